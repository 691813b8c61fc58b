"use strict";
// The dialog in which a conflict is looked at and resolved.

const SHOWN = 256 << 10;
/** The conflict that is open: its id, ETag and client version. */
let current = null;

/** A version with its bytes as text, exactly as they were sent; a note in place of what is no text or too long. */
async function load(version) {
  if (!version) return { text: "(not known yet)", isNote: true };
  if (version.absent) return { text: "(deleted)", isNote: true };
  if (!version.link) return { text: "(nothing)", isNote: true };
  const type = version.mediaType ?? "";
  const isJSON = /[/+]json\b/i.test(type);
  if (version.size > SHOWN || !(isJSON || /^text\/|[/+]xml\b/i.test(type))) {
    return { text: `(${bytes(version.size)} of ${type || "unknown type"}, at ${version.link})`, isNote: true };
  }
  const text = await (await send("GET", version.link)).text();
  try {
    if (isJSON) JSON.parse(text);
    return { text, isJSON, isText: !isJSON };
  } catch {
    return { text, isText: true };
  }
}

function say(text) {
  byId("conflict-message").textContent = text;
  byId("conflict-message").hidden = !text;
}

async function showConflict(id) {
  const answer = await send("GET", `/cache/conflicts/${encodeURIComponent(id)}`);
  const conflict = await answer.json();
  const [client, server] = await Promise.all([load(conflict.client), load(conflict.server)]);
  const [clientLines, serverLines] = compare(client, server, conflict.differences);
  showLines(byId("client"), clientLines);
  showLines(byId("server"), serverLines);
  byId("conflict-title").textContent = `${conflict.method} ${conflict.target}`;
  const status = conflict.origin ? `, the origin answered ${conflict.origin.status}` : "";
  byId("conflict-about").textContent =
    `${conflict.kind}${status}${conflict.serverIsLatest ? "" : "; the server version may be older than the origin's"}`;
  const canMerge = client.isJSON || client.isText;
  const merged = client.isJSON ? linesToText(clientLines) : client.text;
  current = { id, etag: answer.headers.get("ETag"), isJSON: client.isJSON, isClosed: Boolean(conflict.closedAt), merged };
  byId("edit-merge").hidden = !canMerge;
  for (const name of ["keep-client", "keep-server", "edit-merge"]) byId(name).disabled = current.isClosed;
}

async function openConflict(id) {
  say("");
  byId("merge").hidden = true;
  await showConflict(id);
  byId("conflict").showModal();
}

function closeConflict() {
  current = null;
  byId("conflict").close();
}

/** `body` is JSON text, sent as it is: numbers must not go through JSON.parse. */
async function resolve(used, body) {
  used.disabled = true;
  say("");
  try {
    const answer = await send("POST", `/cache/conflicts/${encodeURIComponent(current.id)}/resolution`, {
      body, headers: current.etag ? { "If-Match": current.etag } : {},
    });
    closeConflict();
    tell(answer.status === 202 ? "Resolved; it is queued until the origin is reachable." : "");
  } catch (error) {
    say(error.message);
    if (error.status === 409 || error.status === 412) await showConflict(current.id).catch((later) => say(later.message));
  } finally {
    used.disabled = current?.isClosed ?? false;
    refreshSoon();
  }
}

/** Called for each event of a conflict. */
function conflictChanged({ id, closed }) {
  if (current?.id !== id) return;
  if (closed) {
    say("This conflict has been resolved elsewhere.");
    current.isClosed = true;
    for (const name of ["keep-client", "keep-server", "edit-merge"]) byId(name).disabled = true;
  } else {
    say("It has changed: this is the newer state.");
    showConflict(id).catch((error) => say(error.message));
  }
}

byId("keep-client").addEventListener("click", (event) => resolve(event.target, '{"keep":"client"}'));
byId("keep-server").addEventListener("click", (event) => resolve(event.target, '{"keep":"server"}'));
byId("close-conflict").addEventListener("click", closeConflict);
byId("conflict").addEventListener("close", () => { current = null; });
byId("edit-merge").addEventListener("click", () => {
  byId("merged").value = current.merged;
  byId("merge").hidden = false;
  byId("merged").focus();
});
byId("merge").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("merged").value;
  if (current.isJSON) {
    try {
      JSON.parse(text);
    } catch (error) {
      say(`This is no JSON: ${error.message}`);
      return;
    }
  }
  resolve(event.submitter, `{"keep":"merged","body":${current.isJSON ? text : JSON.stringify(text)}}`);
});
