"use strict";
// The stream of /cache/events, read by fetch because EventSource can't send a token; and the switches above.

const KEPT = 200;
let lastEventID = null;

function note(event) {
  const about = event[event.type] ?? {};
  const what = [about.target, about.name, about.kind].filter(Boolean).join(" ");
  const change = about.to ? `${about.from ?? "new"} → ${about.to}` : about.state ?? (about.closed ? "closed" : "");
  const log = byId("events");
  log.prepend(element("li", [time(event.at), event.type, what, change].filter(Boolean).join("  ")));
  while (log.children.length > KEPT) log.lastChild.remove();
}

/** One event: lines of `name: value`. */
function take(text) {
  let data = "";
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    if (name === "id") lastEventID = value;
    if (name === "data") data += value;
  }
  if (!data) return;
  const event = JSON.parse(data);
  note(event);
  if (event.type === "conflict") conflictChanged(event.conflict);
  refreshSoon();
}

async function listen() {
  const path = `/cache/events${seesAll ? "?partition=*" : ""}`;
  const answer = await send("GET", path, { headers: lastEventID ? { "Last-Event-ID": lastEventID } : {} });
  refreshSoon();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    parts.forEach(take);
  }
}

async function run() {
  for (;;) {
    try {
      await listen();
    } catch (error) {
      if (error.status === 403) seesAll = false;
      else {
        byId("network").textContent = "Holdfast does not answer";
        byId("network").className = "";
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

byId("offline").addEventListener("click", ({ target }) =>
  act(target, () => put("/cache/network", { offline: target.dataset.offline === "true" })));
byId("suspend").addEventListener("click", ({ target }) =>
  act(target, () => put("/cache/suspended", { suspended: target.dataset.suspended === "true" })));
byId("sync").addEventListener("click", ({ target }) => act(target, async () => {
  const result = await (await send("POST", "/cache/sync?wait=5")).json();
  tell(result.offline ? "Offline: nothing was sent." : result.suspended ? "Suspended: nothing was sent." : "");
}));

run();
