"use strict";

// One card at a time: an answer is saved before the next card appears, and the next cards are loaded
// in advance. Everything is shown as text, never as markup.

const mode = document.body.dataset.mode;
const many = document.body.dataset.labels === "many"; // more than two labels
const csrf = document.querySelector('meta[name="csrf-token"]').content;
const at = (id) => document.getElementById(id);

const AHEAD = 5;
const state = {
  card: null, // the card on the screen
  shownAt: 0,
  ahead: [], // the next cards
  before: [], // earlier rows, for going back
  after: [], // rows that "back" left
  skipped: new Set(),
  filter: { show: "open" },
  busy: false,
  unsaved: false, // whether an answer is on its way
  fetching: null,
  left: 0, // rows not judged yet
  ended: null, // the result on the screen, at the end of a batch
  waiting: null, // the timer that asks whether other reviewers are done
};

// ---- talking to the server

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const content = await answer.json().catch(() => ({}));
  return { status: answer.status, content };
}

function newName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

// Sends until the server answers, so that nothing typed is lost to a lock, a full disk or a restart.
async function send(path, body) {
  state.unsaved = true;
  const waiting = setTimeout(() => say("Saving …", false), 1000);
  for (let turn = 0; ; turn += 1) {
    try {
      const found = await ask(path, body);
      if (found.status !== 503) {
        clearTimeout(waiting);
        state.unsaved = false;
        return found;
      }
      say(`${found.content.error || "The server is busy."} Your answer is kept; trying again …`);
    } catch {
      say("The server is not responding. Your answer is kept; trying again …");
    }
    clearTimeout(waiting);
    await sleep(Math.min(5, 0.5 + turn / 2));
  }
}

function fetchAhead() {
  state.fetching ??= (async () => {
    const held = [...state.ahead.map((card) => card.row), ...state.skipped];
    if (state.card) held.push(state.card.row);
    const asked = state.filter;
    const found = await ask("/api/next", { ...asked, held, count: AHEAD }).catch(() => null);
    state.fetching = null;
    if (!found || asked !== state.filter) return false;
    if (found.status !== 200) return refuse(found);
    const known = new Set(state.ahead.map((card) => card.row));
    const fresh = found.content.cards.filter((card) => !known.has(card.row));
    state.ahead.push(...fresh);
    fresh.forEach(loadImages);
    showProgress(found.content.progress);
    return fresh.length > 0;
  })();
  return state.fetching;
}

function loadImages(card) {
  for (const field of card.fields) {
    if (field.is_image) new Image().src = imageOf(card, field);
  }
}

const imageOf = (card, field) => `/image/${card.row}/${field.column}`;

function refuse(found) {
  say(found.content.error || `The server answered ${found.status}. Reload the page.`);
  return false;
}

// ---- showing

function say(text, beware = true) {
  at("status").textContent = text;
  at("status").classList.toggle("beware", beware);
}

function show(card) {
  state.card = card;
  state.shownAt = performance.now();
  hideResult();
  at("card").hidden = !card;
  at("answers").classList.toggle("without-row", !card);
  at("done").hidden = Boolean(card);
  if (many) showChoices(card);
  for (const button of document.querySelectorAll("button[data-answer]")) {
    button.hidden = !card;
    const mine = Boolean(card?.mine && String(card.mine.answer) === button.dataset.answer);
    button.classList.toggle("mine", mine);
    button.setAttribute("aria-pressed", String(mine));
  }
  at("note").value = card?.mine?.note ?? "";
  if (!card) return;
  const number = mode === "audit" ? `No. ${card.row}` : `row ${card.row}`;
  at("heading").textContent = card.name === null ? number[0].toUpperCase() + number.slice(1) : `${card.name} (${number})`;
  if (mode === "review") showOpinion(card);
  showFields(card);
  at("said").hidden = !card.said.length;
  at("said").replaceChildren(...card.said.map(saidOf));
  at("more").hidden = !card.more;
  at("more").textContent = `${card.more} more columns are not shown.`;
  at("fields").scrollTop = 0;
}

function showOpinion(card) {
  at("reason").textContent = card.reason;
  if (many) {
    at("given").textContent = labels[card.given].text;
    at("how").textContent = card.is_suggested ? "Suggested" : "Otherwise most likely";
    at("suggestion").textContent = labels[card.suggested].text;
    at("likely").textContent = `(${percent(card.suggested_probability)})`;
    return;
  }
  at("given").textContent = card.label;
  at("suggestion").textContent = card.suggestion;
  at("suggests").hidden = card.suggestion === card.label;
  at("keeps").textContent = card.label;
  at("flips").textContent = card.other;
}

function showFields(card) {
  const parts = [];
  for (const field of card.fields) {
    const name = document.createElement("dt");
    name.textContent = field.name;
    const value = document.createElement("dd");
    if (field.text) value.append(field.text);
    else if (!field.is_image) value.append("—");
    if (field.is_image) {
      const image = document.createElement("img");
      image.src = imageOf(card, field);
      image.alt = `Image of ${field.name}`;
      value.append(image);
    }
    parts.push(name, value);
  }
  at("fields").replaceChildren(...parts);
}

function saidOf(one) {
  const item = document.createElement("li");
  const note = one.note ? `: ${one.note}` : "";
  item.textContent = `${one.reviewer} answered ${one.answer}${note}`;
  return item;
}

function showProgress(found) {
  state.left = found.left;
  at("bar").max = Math.max(found.total, 1);
  at("bar").value = found.done;
  const batch = found.batch > 1 ? `Batch ${found.batch}: ` : "";
  const parts = [`${batch}${found.done} of ${found.total} judged, ${found.left} left`];
  if (found.minutes_left !== null && found.left) {
    const minutes = Math.max(1, Math.ceil(found.minutes_left));
    parts.push(`about ${minutes} ${minutes === 1 ? "minute" : "minutes"}`);
  }
  if (found.recent?.n) {
    const { flips, n } = found.recent;
    parts.push(many ? `${flips} of the last ${n} answers changed the label` : `${flips} of the last ${n} answers were flips`);
  }
  if (found.recent?.running_out) parts.push("wrong labels are running out");
  if (found.unsure) parts.push(`${found.unsure} unsure`);
  if (found.disagreements) parts.push(`${found.disagreements} disputed`);
  at("progress").textContent = parts.join(" · ");
  at("agreement").hidden = !found.agreement.length;
  at("agreement").textContent = found.agreement.map(agreementOf).join(" ");
}

function agreementOf(pair) {
  const kappa = pair.kappa === null ? "" : `, kappa ${pair.kappa.toFixed(2)}`;
  const rows = pair.n_rows === 1 ? "row" : "rows";
  return `${pair.reviewers.join(" and ")} agree on ${Math.round(100 * pair.share)} % of ${pair.n_rows} ${rows}${kappa}.`;
}

async function showNext() {
  if (!state.ahead.length) await fetchAhead();
  if (!state.ahead.length && state.skipped.size) {
    // Only what was skipped is left: it comes round again.
    state.skipped.clear();
    state.card = null;
    await fetchAhead();
  }
  const next = state.ahead.shift();
  show(next ?? null);
  if (!next) {
    await showEnd();
    return;
  }
  if (state.ahead.length < AHEAD - 2) fetchAhead();
}

async function showEnd() {
  at("done").textContent = doneText();
  if (mode !== "audit" || isFiltered()) return;
  const found = await askResult();
  if (state.card || !found) return;
  if (found.missing) waitForOthers(found.missing);
  else showResult(found);
}

const isFiltered = () => state.filter.show !== "open" || Object.keys(state.filter).length > 1;

function doneText() {
  if (isFiltered()) return "No rows match. Choose others.";
  if (mode === "audit") return "Every row is judged. Computing the result …";
  if (state.left) return "Other reviewers are looking at the remaining rows. Reload the page later.";
  const next = document.body.dataset.next;
  return next ? `Every row is judged. To write the corrected table, run: ${next}` : "Every row is judged.";
}

// ---- the end of a batch

const SOON = 2;

async function askResult() {
  const found = await ask("/api/result", {}).catch(() => null);
  if (found?.status === 200) return found.content;
  at("done").textContent = found?.content.error || "The server is not responding. Every answer is saved.";
  later();
  return null;
}

function waitForOthers(n) {
  const rows = n === 1 ? "the last row" : `the remaining ${n} rows`;
  at("done").textContent = `Other reviewers are looking at ${rows}. The result will appear here.`;
  later();
}

function later() {
  clearTimeout(state.waiting);
  state.waiting = setTimeout(async () => {
    if (state.card || state.ended) return;
    if (state.busy) later();
    else await showEndOrCard();
  }, 1000 * SOON);
}

// Rows that another reviewer had reserved, or took back, may be free again.
async function showEndOrCard() {
  await fetchAhead();
  if (state.card || state.busy) return;
  if (state.ahead.length) await alone(showNext);
  else await showEnd();
}

function hideResult() {
  clearTimeout(state.waiting);
  state.ended = null;
  if (mode === "audit") at("result").hidden = true;
}

const percent = (share) => `${(100 * share).toFixed(1)}%`;

function showResult(found) {
  state.ended = found;
  at("done").hidden = true;
  at("result").hidden = false;
  const rows = `${found.rows} judged ${found.rows === 1 ? "row" : "rows"}`;
  at("result-heading").textContent = `The result after ${rows}`;
  at("headline").textContent = found.headline;
  at("share").textContent = `${found.share}, with its 95% range`;
  const { before, after, next } = found;
  const end = Math.max(before.high, after.high) || 1;
  const parts = [
    rangeOf("before", "Before any row was judged", wordsOf(before), before, end),
    rangeOf("after", `After ${rows}`, wordsOf(after), after, end),
  ];
  if (next?.width && after.high > after.low) {
    // Nobody knows where it will be; this keeps the most likely share where it is in the range now.
    const part = next.width / (after.high - after.low);
    const from = (value) => after.estimate + part * (value - after.estimate);
    const planned = { low: Math.max(0, from(after.low)), high: Math.min(end, from(after.high)) };
    parts.push(rangeOf("planned", `Expected after ${next.n} more`, next.words, planned, end));
  }
  at("ranges").replaceChildren(...parts);
  at("end").textContent = percent(end);
  at("judged").textContent = found.answers;
  at("deal").hidden = !next;
  at("deal").replaceChildren(...(next ? [moreText(next), " ", keyOf("Enter")] : []));
  at("stop").textContent = stopText(next);
  at("result-heading").focus();
}

const wordsOf = (range) => `${percent(range.low)} to ${percent(range.high)}, most likely ${percent(range.estimate)}`;

const moreText = (next) => `Judge ${next.n} more${next.words ? `: the range would shrink to ${next.words}` : ""}`;

function keyOf(name) {
  const key = document.createElement("kbd");
  key.textContent = name;
  return key;
}

function stopText(next) {
  const command = document.body.dataset.next;
  const saved = `${next ? "Or stop here: the" : "The"} result is saved, and you can close this page.`;
  return next && command ? `${saved} To judge more rows later, run: ${command}` : saved;
}

// The words say it all; the bar is for the eye alone.
function rangeOf(kind, name, words, range, end) {
  const part = document.createElement("div");
  part.className = `range ${kind}`;
  const text = document.createElement("p");
  const what = document.createElement("strong");
  what.textContent = name;
  text.append(what, " ", words);
  const track = document.createElement("div");
  track.className = "track";
  track.setAttribute("aria-hidden", "true");
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.style.left = `${(100 * range.low) / end}%`;
  bar.style.width = `${(100 * (range.high - range.low)) / end}%`;
  track.append(bar);
  if (range.estimate !== undefined) {
    const point = document.createElement("div");
    point.className = "point";
    point.style.left = `${(100 * range.estimate) / end}%`;
    track.append(point);
  }
  part.append(text, track);
  return part;
}

const more = () => alone(async () => {
  if (!state.ended?.next) return;
  const found = await send("/api/more", { after: state.ended.batch });
  if (found.status !== 200) {
    refuse(found);
    return;
  }
  showProgress(found.content.progress);
  state.before = [];
  state.after = [];
  state.skipped.clear();
  await showNext();
});

// ---- doing

// One action at a time, so that a key held down does not answer for rows nobody has seen.
async function alone(work) {
  if (state.busy) return;
  state.busy = true;
  say("");
  const buttons = [...document.querySelectorAll(".answers button, #deal")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await work();
  } finally {
    state.busy = false;
    buttons.forEach((button) => { button.disabled = false; });
  }
}

const decide = (answer, pressed) => alone(async () => {
  if (!state.card) return;
  const card = state.card;
  const found = await send("/api/decide", {
    uid: newName(),
    row: card.row,
    answer,
    seconds: (performance.now() - state.shownAt) / 1000,
    note: at("note").value,
  });
  if (found.status === 409 && found.content.first) {
    const first = found.content.first;
    say(`${first.reviewer} judged row ${card.row} first and answered ${first.answer}.`);
  } else if (found.status !== 200) {
    refuse(found);
    return;
  } else {
    showProgress(found.content.progress);
    say(`Saved: ${card.row}, ${wordOf(answer)}.`, false);
  }
  stopNoting();
  state.before.push(card.row);
  state.skipped.delete(card.row);
  if (state.after.length) await showRow(state.after.pop());
  else await showNext();
  pressed?.blur();
});

const wordOf = (answer) => (typeof answer === "number" ? labels[answer].text : answer);

// A button's answer as it is sent: of many labels, a number.
function answerOf(button) {
  const { answer } = button.dataset;
  return many && answer !== "unsure" ? Number(answer) : answer;
}

const undo = () => alone(async () => {
  const found = await send("/api/undo", { uid: newName() });
  if (found.status !== 200) {
    refuse(found);
    return;
  }
  if (state.card) state.ahead.unshift(state.card);
  const row = found.content.card.row;
  state.ahead = state.ahead.filter((card) => card.row !== row);
  state.before = state.before.filter((earlier) => earlier !== row);
  show(found.content.card);
  showProgress(found.content.progress);
  say(`Undone: row ${row}.`, false);
});

async function showRow(row) {
  const found = await ask(`/api/card/${row}`);
  if (found.status !== 200) return refuse(found);
  state.ahead = state.ahead.filter((card) => card.row !== row);
  show(found.content);
  return true;
}

const back = () => alone(async () => {
  if (!state.before.length) {
    say("This is the first row.", false);
    return;
  }
  const current = state.card;
  if (await showRow(state.before.pop()) && current) state.after.push(current.row);
});

const forward = () => alone(async () => {
  if (!state.card) return;
  const row = state.card.row;
  state.before.push(row);
  if (state.after.length) {
    await showRow(state.after.pop());
    return;
  }
  state.skipped.add(row);
  await showNext();
});

async function startOver() {
  state.ahead = [];
  state.before = [];
  state.after = [];
  state.skipped.clear();
  state.card = null;
  state.fetching = null;
  await showNext();
}

const choose = () => alone(async () => {
  const filter = { show: at("show").value };
  if (mode === "review") {
    const label = at("label").value;
    if (label) filter.label = many ? Number(label) : label;
    if (Number(at("least").value) > 0) filter.least = Number(at("least").value) / 100;
    if (Number(at("most").value) < 100) filter.most = Number(at("most").value) / 100;
    const group = at("subgroup")?.selectedOptions[0];
    if (group?.value) {
      filter.column = Number(group.dataset.column);
      filter.value = group.dataset.value;
    }
  }
  state.filter = filter;
  await startOver();
});

const search = () => alone(async () => {
  const name = at("name").value.trim();
  if (!name) return;
  const found = await ask(`/api/find?name=${encodeURIComponent(name)}`);
  if (found.status !== 200) {
    say(`There is no row ${name}.`);
    return;
  }
  const current = state.card;
  if (current?.row === found.content.row) return;
  if (await showRow(found.content.row) && current) state.after.push(current.row);
});

// ---- any label by its name, where there are more than two

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const wordsIn = (text) => ` ${plain(text).replace(/[^\p{L}\p{N}]+/gu, " ").trim()}`;
const labels = [...document.querySelectorAll("#labels [role=option]")].map((item, code) => ({
  item, code, text: item.textContent, plain: plain(item.textContent), words: wordsIn(item.textContent),
}));
// Letters open the box, unless the name of a label could answer something else before it is typed.
const lettersOpen = many && !labels.some((label) => / [nuz]/.test(label.words));
const listed = { labels: [], at: -1 }; // the labels that match, and the one that Enter takes

function showChoices(card) {
  const choices = [...(card?.choices ?? [])];
  const mine = card?.mine?.answer;
  if (typeof mine === "number" && !choices.some((choice) => choice.label === mine)) {
    choices.push({ label: mine, key: null });
  }
  at("choices").replaceChildren(...choices.map((choice) => choiceOf(choice, card)));
  closeLabels();
}

function choiceOf({ label, key }, card) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.answer = label;
  if (key !== null) button.dataset.key = key;
  const text = document.createElement("span");
  text.className = "label";
  text.textContent = text.title = labels[label].text;
  if (label === card.given) {
    const keep = document.createElement("span");
    keep.textContent = "Keep";
    button.append(keep, " ");
  }
  button.classList.toggle("given", label === card.given);
  button.classList.toggle("suggested", label === card.suggested);
  button.append(text);
  if (key !== null) button.append(" ", keyOf(key));
  return button;
}

// The better it matches what was typed, the smaller; null if it does not.
function rankOf(label, typed) {
  const wanted = plain(typed);
  if (label.text === typed) return 0;
  if (label.plain === wanted) return 1;
  if (label.plain.startsWith(wanted)) return 2;
  if (label.words.includes(wordsIn(typed))) return 3;
  return label.plain.includes(wanted) ? 4 : null;
}

function showLabels() {
  const typed = at("typed").value.trim();
  const ranked = labels.map((label) => ({ label, rank: rankOf(label, typed) }));
  listed.labels = ranked.filter(({ rank }) => rank !== null).sort((a, b) => a.rank - b.rank).map(({ label }) => label);
  at("labels").replaceChildren(...listed.labels.map((label) => label.item));
  at("labels").hidden = !listed.labels.length;
  at("typed").setAttribute("aria-expanded", String(listed.labels.length > 0));
  at("labels").scrollTop = 0;
  // Without a letter, Enter takes none.
  select(typed && listed.labels.length ? 0 : -1);
}

function select(place) {
  listed.labels[listed.at]?.item.setAttribute("aria-selected", "false");
  listed.at = place;
  const item = listed.labels[place]?.item;
  if (item) {
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    at("typed").setAttribute("aria-activedescendant", item.id);
  } else {
    at("typed").removeAttribute("aria-activedescendant");
  }
}

function openLabels(letter) {
  if (!state.card) return;
  at("typed").value = letter;
  at("typed").focus();
  showLabels();
}

function hideLabels() {
  select(-1);
  listed.labels = [];
  at("labels").hidden = true;
  at("typed").setAttribute("aria-expanded", "false");
}

function closeLabels() {
  at("typed").value = "";
  hideLabels();
  if (document.activeElement === at("typed")) at("typed").blur();
}

function pick(label) {
  if (state.busy) return;
  if (label) decide(label.code);
  else if (at("typed").value.trim() && !listed.labels.length) say(`No label matches “${at("typed").value.trim()}”.`);
}

function move(event, step) {
  event.preventDefault();
  if (at("labels").hidden) showLabels();
  const n = listed.labels.length;
  if (n) select(listed.at < 0 && step < 0 ? n - 1 : (listed.at + step + n) % n);
}

if (many) {
  at("letters").hidden = !lettersOpen;
  at("typed").addEventListener("input", showLabels);
  at("typed").addEventListener("click", () => { if (at("labels").hidden) showLabels(); });
  at("typed").addEventListener("blur", hideLabels);
  at("typed").addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") move(event, 1);
    else if (event.key === "ArrowUp") move(event, -1);
    else if (event.key === "Escape") closeLabels();
    else if (event.key === "Enter") {
      event.preventDefault();
      if (!event.repeat) pick(listed.labels[listed.at]);
    }
  });
  // The box keeps the focus, so that its list stays.
  at("labels").addEventListener("mousedown", (event) => event.preventDefault());
  at("labels").addEventListener("click", (event) => {
    const item = event.target.closest("[role=option]");
    pick(labels.find((label) => label.item === item));
  });
}

// ---- listening

function note() {
  if (!state.card) return;
  at("answers").classList.add("noting");
  at("note").focus();
}

function stopNoting() {
  at("answers").classList.remove("noting");
  if (document.activeElement === at("note")) at("note").blur();
}

const KEYS = { Enter: more, z: undo, ArrowLeft: back, ArrowRight: forward, n: note, "?": () => at("help").showModal() };

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") stopNoting();
  const typing = event.target.closest?.("input, textarea, select, summary, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (!at("shortcuts").checked) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const button = document.querySelector(`button[data-answer][data-key="${CSS.escape(key)}"]`);
  const work = button ? () => decide(answerOf(button)) : KEYS[key] ?? opening(event.key);
  // On a button, Enter presses that button.
  if (!work || (key === "Enter" && (!state.ended || event.target.closest?.("button")))) return;
  event.preventDefault();
  work();
});

// What a key does that opens the box for labels.
function opening(key) {
  if (!many || !state.card) return undefined;
  if (key === "/") return () => openLabels("");
  return lettersOpen && /^\p{L}$/u.test(key) ? () => openLabels(key) : undefined;
}

at("answers").addEventListener("click", (event) => {
  const button = event.target.closest("button[data-answer]");
  if (button) decide(answerOf(button), button);
});
at("deal")?.addEventListener("click", more);
at("back").addEventListener("click", back);
at("forward").addEventListener("click", forward);
at("undo").addEventListener("click", undo);
at("note-open").addEventListener("click", note);
at("help-open").addEventListener("click", () => at("help").showModal());
at("answers").addEventListener("submit", (event) => event.preventDefault());
at("filter").addEventListener("submit", (event) => { event.preventDefault(); choose(); });
at("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
at("shortcuts").checked = localStorage.getItem("rankprune-keys") !== "off";
at("shortcuts").addEventListener("change", () => {
  localStorage.setItem("rankprune-keys", at("shortcuts").checked ? "on" : "off");
});

// Browsers ask before they close a page whose answer is on its way.
window.addEventListener("beforeunload", (event) => {
  if (state.unsaved) event.preventDefault();
});

alone(showNext);
