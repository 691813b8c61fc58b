"use strict";
// The page of /cache/ui. All that comes from elsewhere is shown as text (textContent), never as markup.

const TOKEN = "holdfast-token";
const RUNNING = ["pending", "sending", "unknown"];
const PAGE = 100;
const byId = (id) => document.getElementById(id);

// MARK: Requests

class Refusal extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? `The service answered ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

/** Sends a request with the token; asks for one where it is missing. Throws a Refusal for 4xx and 5xx. */
async function send(method, path, { body, headers = {}, signal } = {}) {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    const answer = await fetch(path, {
      method, body, signal, cache: "no-store", credentials: "omit",
      headers: {
        ...(token ? { "Holdfast-Token": token } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers,
      },
    });
    if (answer.ok) return answer;
    if (answer.status === 401) {
      await askForToken(token);
      continue;
    }
    throw new Refusal(answer.status, await answer.json().catch(() => null));
  }
}

const get = async (path) => (await send("GET", path)).json();
const put = (path, value) => send("PUT", path, { body: JSON.stringify(value) });

let asking = null;

/** Resolves when there is another token than the one that was refused. One dialog for all that wait. */
function askForToken(refused) {
  if (sessionStorage.getItem(TOKEN) !== refused) return Promise.resolve();
  asking ??= new Promise((resolve) => {
    const dialog = byId("login");
    byId("token").value = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(TOKEN, byId("token").value);
      byId("token").value = "";
      asking = null;
      resolve();
    }, { once: true });
  });
  return asking;
}
byId("login").addEventListener("cancel", (event) => event.preventDefault());

/** A list of all partitions with a full token, else of one's own. */
let seesAll = true;
async function list(path) {
  const separator = path.includes("?") ? "&" : "?";
  if (seesAll) {
    try {
      return await get(`${path}${separator}partition=*`);
    } catch (error) {
      if (error.status !== 403) throw error;
      seesAll = false;
    }
  }
  return get(path);
}

function tell(text) {
  byId("message").textContent = text;
  byId("message").hidden = !text;
}

/** Runs what a button is for, with the button out of use meanwhile; a refusal is told. */
async function act(button, work) {
  button.disabled = true;
  try {
    tell("");
    await work();
  } catch (error) {
    tell(error.message);
  } finally {
    button.disabled = false;
    refreshSoon();
  }
}

// MARK: Showing

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function button(text, label, work) {
  const made = element("button", text);
  made.setAttribute("aria-label", label);
  made.addEventListener("click", () => act(made, work));
  return made;
}

/** Makes the list show the items in order; an item that has not changed keeps its element, and with it the focus. */
function show(list, items, key, make) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const wanted = items.map((item) => {
    const state = JSON.stringify(item);
    const there = old.get(key(item));
    if (there && there.dataset.state === state) return there;
    const made = make(item);
    made.dataset.key = key(item);
    made.dataset.state = state;
    return made;
  });
  for (const child of [...list.children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((child, index) => {
    if (list.children[index] !== child) list.insertBefore(child, list.children[index] ?? null);
  });
}

function card(title, why, ...buttons) {
  const made = element("li");
  const what = element("span", title, "what");
  if (why) what.append(element("span", why, "why"));
  made.append(what, ...buttons);
  return made;
}

const time = (text) => new Date(text).toLocaleTimeString();
const count = (page) => (page.items.length ? `(${page.items.length}${page.next ? "+" : ""})` : "");

function bytes(number) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (number < 1024 || unit === "GiB") return `${unit === "bytes" ? number : number.toFixed(1)} ${unit}`;
    number /= 1024;
  }
}

function queued(operation) {
  const next = operation.nextAttemptAt ? `, again at ${time(operation.nextAttemptAt)}` : "";
  const why = `${operation.state}${operation.reason ? `, ${operation.reason}` : ""}, ${operation.attempts} attempts${next}`;
  return card(`${operation.method} ${operation.target}`, why, discardButton(operation));
}

function failed(operation) {
  const answer = operation.lastAnswer;
  const said = answer ? `, the origin said ${answer.status}${answer.body ? `: ${answer.body.slice(0, 300)}` : ""}` : "";
  const name = `${operation.method} ${operation.target}`;
  return card(
    name, `${operation.reason ?? "failed"}${said}`,
    button("Retry", `Retry ${name}`, () => send("POST", `${operation.links.operation}/retry`)),
    discardButton(operation));
}

/** By the problem that a discard is refused with: the parameter that insists on it, and what to ask before. */
const insisting = {
  "/problems/has-dependents": ["cascade=true", "Later writes depend on it. Give them up too?"],
  "/problems/operation-busy": ["force=true", "It may be in effect at the origin already. Give it up all the same?"],
};

function discardButton(operation) {
  const name = `${operation.method} ${operation.target}`;
  return button("Discard", `Discard ${name}`, async () => {
    if (!confirm(`Give up ${name}? What was written is lost.`)) return;
    const insisted = [];
    for (;;) {
      try {
        return await send("DELETE", operation.links.operation + (insisted.length ? `?${insisted.join("&")}` : ""));
      } catch (error) {
        const [parameter, question] = insisting[error.problem?.type] ?? [];
        if (!parameter || insisted.includes(parameter) || !confirm(question)) throw error;
        insisted.push(parameter);
      }
    }
  });
}

function conflicting(conflict) {
  const name = `${conflict.method} ${conflict.target}`;
  return card(
    name, `${conflict.kind}, since ${time(conflict.createdAt)}`,
    button("Look", `Look at the conflict of ${name}`, () => openConflict(conflict.id)));
}

function stored(store) {
  return card(store.name, `${store.status}, ${store.type}, for ${store.paths.join(", ")}`);
}

function showOverview(overview) {
  const isForced = overview.network === "offline-forced";
  byId("network").textContent = overview.network + (overview.suspended ? ", suspended" : "");
  byId("network").className = ["online", "degraded", "auth"].includes(overview.network) ? "online" : "";
  byId("offline").textContent = isForced ? "Go online" : "Go offline";
  byId("offline").dataset.offline = String(!isForced);
  byId("suspend").textContent = overview.suspended ? "Resume" : "Suspend";
  byId("suspend").dataset.suspended = String(!overview.suspended);
  const figures = [
    ["Entries", overview.entries],
    ["Copies", `${bytes(overview.sizes.copies)} of ${bytes(overview.limits.store)}`],
    ["Queued writes", bytes(overview.sizes.operations)],
    ["In memory", bytes(overview.sizes.view)],
    ["Hits, misses", `${overview.hits}, ${overview.misses}`],
    ["Pending, failed", `${overview.pending}, ${overview.failed}`],
  ];
  byId("figures").replaceChildren(
    ...figures.flatMap(([name, value]) => [element("dt", name), element("dd", String(value))]));
}

async function showLists() {
  const states = (names) => names.map((name) => `state=${name}`).join("&");
  const [queue, stopped, conflicts] = await Promise.all([
    list(`/cache/operations?${states(RUNNING)}&limit=${PAGE}`), list(`/cache/operations?state=failed&limit=${PAGE}`),
    list(`/cache/conflicts?limit=${PAGE}`),
  ]);
  show(byId("queue"), queue.items, (item) => item.id, queued);
  show(byId("failed"), stopped.items, (item) => item.id, failed);
  show(byId("conflicts"), conflicts.items.map(({ id, method, target, kind, createdAt }) =>
    ({ id, method, target, kind, createdAt })), (item) => item.id, conflicting);
  byId("queue-count").textContent = count(queue);
  byId("failed-count").textContent = count(stopped);
  byId("conflicts-count").textContent = count(conflicts);
}

async function refresh() {
  showOverview(await get("/cache"));
  await showLists();
  show(byId("stores"), (await get("/cache/stores").catch(() => ({ items: [] }))).items, (item) => item.name, stored);
}

let refreshing = null;
let isStale = false;

/** Reads everything again, at most a few times a second. */
function refreshSoon() {
  isStale = true;
  refreshing ??= (async () => {
    while (isStale) {
      isStale = false;
      try {
        await refresh();
      } catch (error) {
        tell(error.message);
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    refreshing = null;
  })();
}
