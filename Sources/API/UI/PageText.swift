/// The files of /cache/ui, word for word; a test compares them.
enum PageText {
    static let files: [String: String] = [
        "index.html": ##"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Holdfast</title>
        <link rel="stylesheet" href="/cache/ui/style.css">
        <script src="/cache/ui/app.js" defer></script>
        <script src="/cache/ui/document.js" defer></script>
        <script src="/cache/ui/conflict.js" defer></script>
        <script src="/cache/ui/events.js" defer></script>
        </head>
        <body>
        <header>
          <h1>Holdfast</h1>
          <p id="network" role="status">…</p>
          <div class="buttons">
            <button id="offline">Go offline</button>
            <button id="sync">Sync now</button>
            <button id="suspend">Suspend</button>
          </div>
        </header>
        <p id="message" role="status" hidden></p>
        <main>
          <section aria-labelledby="conflicts-title">
            <h2 id="conflicts-title">Conflicts <span class="count" id="conflicts-count"></span></h2>
            <ul id="conflicts" class="cards"></ul>
            <p class="empty">None.</p>
          </section>
          <section aria-labelledby="failed-title">
            <h2 id="failed-title">Failed writes <span class="count" id="failed-count"></span></h2>
            <ul id="failed" class="cards"></ul>
            <p class="empty">None.</p>
          </section>
          <section aria-labelledby="queue-title">
            <h2 id="queue-title">Queue <span class="count" id="queue-count"></span></h2>
            <ol id="queue" class="cards"></ol>
            <p class="empty">Nothing waits.</p>
          </section>
          <section aria-labelledby="store-title">
            <h2 id="store-title">Stores</h2>
            <dl id="figures"></dl>
            <ul id="stores" class="cards"></ul>
          </section>
          <section aria-labelledby="events-title">
            <h2 id="events-title">Events</h2>
            <ol id="events" class="log"></ol>
            <p class="empty">None since this page was opened.</p>
          </section>
        </main>

        <dialog id="conflict" aria-labelledby="conflict-title">
          <h2 id="conflict-title"></h2>
          <p id="conflict-about"></p>
          <p id="conflict-message" role="alert" hidden></p>
          <div class="versions">
            <section aria-labelledby="client-title">
              <h3 id="client-title">Client</h3>
              <pre id="client" tabindex="0"></pre>
              <button id="keep-client">Keep client</button>
            </section>
            <section aria-labelledby="server-title">
              <h3 id="server-title">Server</h3>
              <pre id="server" tabindex="0"></pre>
              <button id="keep-server">Keep server</button>
            </section>
          </div>
          <form id="merge" hidden>
            <label for="merged">Merged version</label>
            <textarea id="merged" rows="12" spellcheck="false"></textarea>
            <button>Keep merged</button>
          </form>
          <div class="buttons">
            <button id="edit-merge">Edit a merge</button>
            <button id="close-conflict">Close</button>
          </div>
        </dialog>

        <dialog id="login" aria-labelledby="login-title">
          <form method="dialog">
            <h2 id="login-title">Access token</h2>
            <p><label for="token">This service wants one of its <code>accessTokens</code>.</label></p>
            <input id="token" type="password" autocomplete="off" required>
            <button>Go on</button>
          </form>
        </dialog>
        <noscript>This page needs JavaScript. The same is under <code>/cache</code> as JSON.</noscript>
        </body>
        </html>

        """##,
        "style.css": ##"""
        :root {
          color-scheme: light dark;
          --line: color-mix(in srgb, currentColor 20%, transparent);
          --client: #b7791f;
          --server: #2b6cb0;
          --bad: #c53030;
          --good: #2f855a;
          font: 16px/1.45 system-ui, sans-serif;
        }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 72rem; padding: 0 1rem 3rem; }
        header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: .75rem 0; border-bottom: 1px solid var(--line); }
        h1 { font-size: 1.3rem; margin: 0; }
        h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
        h3 { font-size: .95rem; margin: 0 0 .25rem; }
        #network { margin: 0; flex: 1; }
        #network::before { content: "●"; margin-right: .35rem; color: var(--bad); }
        #network.online::before { color: var(--good); }
        .buttons { display: flex; flex-wrap: wrap; gap: .5rem; }
        button, textarea, input { font: inherit; }
        button { padding: .4rem .8rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: inherit; cursor: pointer; min-height: 2.5rem; }
        button:hover { background: var(--line); }
        button:disabled { opacity: .5; cursor: default; }
        :focus-visible { outline: 3px solid var(--server); outline-offset: 2px; }
        #message, #conflict-message { padding: .5rem .75rem; border-left: 4px solid var(--bad); background: color-mix(in srgb, var(--bad) 12%, transparent); }
        .count { font-weight: normal; opacity: .7; }
        .cards, .log { list-style: none; margin: 0; padding: 0; }
        .cards > li { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; padding: .5rem 0; border-top: 1px solid var(--line); }
        .cards .what { flex: 1 1 14rem; min-width: 0; overflow-wrap: anywhere; }
        .cards .why { display: block; font-size: .875rem; opacity: .8; }
        .cards:not(:empty) + .empty, .log:not(:empty) + .empty { display: none; }
        .empty { opacity: .7; margin: 0; }
        .log { font: .8125rem/1.5 ui-monospace, monospace; max-height: 14rem; overflow: auto; overflow-wrap: anywhere; }
        dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
        dd { margin: 0; }
        dialog { width: min(64rem, calc(100vw - 1rem)); max-height: calc(100vh - 1rem); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; }
        dialog::backdrop { background: #0008; }
        dialog h2 { margin-top: 0; overflow-wrap: anywhere; }
        #login { width: min(26rem, calc(100vw - 1rem)); }
        #token, textarea { width: 100%; margin-bottom: .5rem; }
        textarea { font: .875rem/1.5 ui-monospace, monospace; display: block; }
        .versions { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
        .versions > section { min-width: 0; }
        pre { font: .875rem/1.5 ui-monospace, monospace; margin: 0 0 .5rem; padding: .5rem 0; border: 1px solid var(--line); overflow: auto; max-height: 45vh; }
        pre span { display: block; padding: 0 .5rem; white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1.5em; }
        pre mark { display: block; padding: 0 .5rem 0 calc(.5rem - 4px); white-space: pre-wrap; overflow-wrap: anywhere; color: inherit; min-height: 1.5em; }
        #client mark { border-left: 4px solid var(--client); background: color-mix(in srgb, var(--client) 22%, transparent); }
        #server mark { border-left: 4px solid var(--server); background: color-mix(in srgb, var(--server) 22%, transparent); }
        #merge { margin: 1rem 0; }
        dialog > .buttons { margin-top: 1rem; }
        @media (max-width: 40rem) {
          .versions { grid-template-columns: 1fr; }
          header .buttons { width: 100%; }
          header .buttons button { flex: 1; }
        }

        """##,
        "app.js": ##"""
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

        function discardButton(operation) {
          const name = `${operation.method} ${operation.target}`;
          return button("Discard", `Discard ${name}`, async () => {
            if (!confirm(`Give up ${name}? What was written is lost.`)) return;
            try {
              await send("DELETE", operation.links.operation);
            } catch (error) {
              const cascades = error.problem?.type === "/problems/has-dependents";
              if (!cascades || !confirm("Later writes depend on it. Give them up too?")) throw error;
              await send("DELETE", `${operation.links.operation}?cascade=true`);
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

        """##,
        "conflict.js": ##"""
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

        """##,
        "document.js": ##"""
        "use strict";
        // Versions of a document as lines, with those marked in which they differ. Numbers keep the text that they were sent with, which
        // JSON.parse would change.

        /** Reads JSON into nodes: {text}, {items: [node]} or {members: [[name, node]]}. Throws where it is none. */
        function readJSON(text) {
          JSON.parse(text);  // The grammar; below only what is known to be valid is taken apart.
          const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g);
          let at = 0;
          const value = () => {
            const token = tokens[at++];
            if (token === "[") {
              const items = [];
              while (tokens[at] !== "]") {
                items.push(value());
                if (tokens[at] === ",") at++;
              }
              at++;
              return { items };
            }
            if (token === "{") {
              const members = [];
              while (tokens[at] !== "}") {
                const name = JSON.parse(tokens[at]);
                at += 2;
                members.push([name, value()]);
                if (tokens[at] === ",") at++;
              }
              at++;
              return { members };
            }
            return { text: token };
          };
          return value();
        }

        /** Lines of indented JSON, each with the pointer (RFC 6901) of what stands on it. */
        function jsonLines(node, pointer = "", indent = "", before = "", after = "") {
          if (node.text !== undefined) return [{ pointer, text: indent + before + node.text + after }];
          const children = node.items?.map((item, index) => [String(index), "", item]) ??
            node.members.map(([name, member]) => [name, `${JSON.stringify(name)}: `, member]);
          const [open, close] = node.items ? ["[", "]"] : ["{", "}"];
          if (!children.length) return [{ pointer, text: indent + before + open + close + after }];
          return [
            { pointer, text: indent + before + open },
            ...children.flatMap(([name, label, child], index) => jsonLines(
              child, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, `${indent}  `, label,
              index + 1 < children.length ? "," : "")),
            { pointer, text: indent + close + after },
          ];
        }

        const linesToText = (lines) => lines.map((line) => line.text).join("\n");

        /** Which lines of each text are not in the other one, in order: the longest common subsequence of lines stays unmarked. */
        function markLines(one, other) {
          const common = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
          for (let i = one.length - 1; i >= 0; i--) {
            for (let j = other.length - 1; j >= 0; j--) {
              common[i][j] = one[i] === other[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
            }
          }
          const marks = [one.map(() => true), other.map(() => true)];
          for (let i = 0, j = 0; i < one.length && j < other.length;) {
            if (one[i] === other[j]) {
              marks[0][i++] = false;
              marks[1][j++] = false;
            } else if (common[i + 1][j] >= common[i][j + 1]) i++;
            else j++;
          }
          return marks;
        }

        /** Shows lines in a pre, the marked ones in mark elements. */
        function showLines(pre, lines) {
          pre.replaceChildren(...lines.map((line) => {
            const made = document.createElement(line.isMarked ? "mark" : "span");
            made.textContent = line.text;
            return made;
          }));
        }

        /** Both versions as lines; `differences` are the pointers at which JSON differs. Texts are compared line by line. */
        function compare(client, server, differences) {
          if (differences && client.isJSON && server.isJSON) {
            const isIn = (pointer) => differences.some((place) => pointer === place || pointer.startsWith(`${place}/`));
            return [client, server].map((version) =>
              jsonLines(readJSON(version.text)).map((line) => ({ ...line, isMarked: isIn(line.pointer) })));
          }
          const lines = [client, server].map((version) =>
            version.isJSON ? jsonLines(readJSON(version.text)).map((line) => line.text) : version.text.split("\n"));
          const isLong = lines[0].length * lines[1].length > 4e6;
          const marks = isLong ? lines.map((some) => some.map(() => true)) : markLines(...lines);
          return lines.map((some, side) => some.map((text, index) => ({ text, isMarked: marks[side][index] })));
        }

        """##,
        "events.js": ##"""
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

        """##,
    ]
}
