extension ProblemCode {
    /// What the page `/problems/CODE` says: when the code is answered, and what ends it. Plain text without markup. The `detail` of
    /// an answer speaks of one case, this of all.
    package var explanation: (cause: String, remedy: String) {
        switch self {
        case .badRequest:
            ("A parameter, field or framing of the request breaks a rule.", "Mend what detail names.")
        case .badTarget:
            (
                "The path or a flag of the query is ambiguous: dot segments, a backslash, // at the start, a flag that is neither "
                    + "true nor false.", "Resolve and percent-encode the target before it is sent."
            )
        case .badPolicy:
            (
                "A policy has an unknown field or value. In Sync-Policy names are in kebab case, in JSON in camel case.",
                "Write a field that detail lists, with a value that it lists."
            )
        case .badQuery:
            (
                "Sync-Filter or Sync-Sort can't be read, or the resource is no list.",
                "Write terms such as price > 10, name = \"x\", and keys such as name, -price."
            )
        case .badConfiguration:
            ("The configuration has a key or value that is not allowed.", "Change the key that detail names.")
        case .badJSON:
            ("The body is not JSON, or has other members than the call takes.", "Compare it with /openapi.yaml.")
        case .badSnapshot:
            (
                "A line of the snapshot is cut, corrupt or of another instance's partitions. Nothing was loaded.",
                "Take the snapshot anew with GET /cache/snapshot."
            )
        case .host:
            (
                "Host names a machine that is not this one, as a page does that rebinds a DNS name.",
                "Ask for localhost or the address listened on, add the name to allowedHosts, or send a token."
            )
        case .origin:
            (
                "A web page of another origin made the request.",
                "Add its origin to allowedOrigins if it may use this service."
            )
        case .accessToken:
            (
                "accessTokens are configured, and the request has none of them.",
                "Send one in Holdfast-Token; under /cache and /metrics Authorization: Bearer is taken too."
            )
        case .readOnlyToken:
            (
                "A read-only token reads resources, and under /cache what is its own partition's or nobody's. It changes nothing, "
                    + "and sees no policies, network, mode, snapshot or stores.", "Send a full token."
            )
        case .notFound:
            (
                "Nothing has this path, id or name, or it has been deleted; 410 where it never comes back.",
                "List what there is: the collection above the path, or /openapi.yaml."
            )
        case .methodNotAllowed: ("The path knows other methods.", "Use one of those in Allow.")
        case .cacheDisabled:
            (
                "The cache mode is no, which keeps nothing, and the origin is away or the call needs the cache.",
                "Set another mode with PUT /cache/mode."
            )
        case .storeDetached:
            (
                "The store that holds the target, or writes queued for it, is detached or stopped.",
                "Attach or start it under /cache/stores; after Retry-After where it has just changed."
            )
        case .storeExists: ("The name of a store is taken.", "Detach that store, or choose another name.")
        case .storeUnusable:
            (
                "The files are in use, are no store of this version, or bear a name of files that Holdfast keeps beside a store.",
                "Detach or end what uses them, attach with overwriteIncompatible to delete what is there, or choose another fileName."
            )
        case .locationNotAllowed:
            ("The folder or file lies outside of storeRoots.", "Choose one inside, or add a root to the configuration.")
        case .keyReused:
            (
                "The key named another method, target, precondition or body before.",
                "Make a new key for each request, and keep it for repeats of that one."
            )
        case .offlineUpdateRejected:
            (
                "The update policy, noCache, no-store, a secret in the query, post=never or a Content-Range forbids to queue the write.",
                "Send it again when the origin is reachable, or allow it with QUEUE_IF_OFFLINE or saveIfOffline=true."
            )
        case .methodNotQueueable:
            (
                "Only PUT, POST, PATCH and DELETE can be queued.", "Send it again when the origin is reachable."
            )
        case .lanePending:
            (
                "The method can't be queued, and what is queued for the target must arrive before it.",
                "Deliver with POST /cache/sync first."
            )
        case .precondition:
            (
                "If-Match, If-None-Match or If-Unmodified-Since does not hold for the version that is known.",
                "Read the version that there is, merge, and send it with its tag."
            )
        case .contentType:
            ("A PUT or POST under /files says nothing of what the bytes are.", "Send Content-Type.")
        case .patchType:
            (
                "Offline a patch is applied here, and its type is none that can be.",
                "Send application/merge-patch+json or application/json-patch+json, or the whole with PUT."
            )
        case .patchConflict:
            (
                "No JSON is known that could be patched, or a test or path of the patch does not fit it.",
                "Read the resource, and patch that or PUT the whole."
            )
        case .laneStopped:
            (
                "A write of the target has failed or is in conflict, and those behind it wait.",
                "Resolve it under /cache/conflicts, retry, edit or discard it under /cache/operations, or PUT or DELETE the target."
            )
        case .tooLarge:
            (
                "The body passes maxBodySize, maxJSONSize where it is patched, filtered or composed, or what the store can hold.",
                "Send less, or raise the limit that detail names."
            )
        case .storeFull:
            (
                "Nothing is left that could be evicted for this write; what was accepted before is safe.",
                "Deliver or discard queued writes, DELETE /cache/entries, or raise maxStoreSize."
            )
        case .storeFailed:
            (
                "The disk refused a read or write, and nothing was accepted.",
                "See to the disk; Holdfast goes on by itself when that works again."
            )
        case .mirrorFailed:
            (
                "The primary location has the write, the mirror does not. It is accepted and will be delivered.",
                "Don't repeat it. Mend the mirror; it is caught up."
            )
        case .notCached:
            (
                "The request may be answered from what is kept alone, and nothing of it is kept.",
                "Read it once with a policy that asks the origin."
            )
        case .offline, .offlineGateway:
            (
                "No connection to the origin could be made, and nothing is stored that may be answered instead: 504 under "
                    + "HTTP_CACHE, 503 under the other fetch policies.",
                "Ask again after Retry-After, or with Sync-Policy: fetch-policy=FETCH_FROM_CACHE for what is stored."
            )
        case .onlyIfCached:
            ("Cache-Control: only-if-cached forbids to ask the origin.", "Leave it out.")
        case .originTimeout:
            (
                "The origin took the connection and sent nothing within timeouts.firstByte.",
                "Ask again; raise the timeout if the origin is slow by nature."
            )
        case .outcomeUnknown:
            (
                "The write was sent and no answer came: it may have taken effect. It is not queued.",
                "Repeat it with the same Idempotency-Key, which looks first; without one, read the resource before."
            )
        case .badAnswer:
            (
                "The origin sent something that is no HTTP, was cut, or does not fit the call.",
                "Look at the origin or the proxy before it, then ask again."
            )
        case .loop:
            ("Via shows that Holdfast has forwarded this request already.", "Point origin at the service itself.")
        case .conflict:
            (
                "The origin has a newer version than the write was made from. All versions are kept.",
                "Compare them under /cache/conflicts, then POST to the conflict's resolution, or PUT a merge."
            )
        case .credentialUnproven:
            (
                "Data kept for an identity is shown, and its writes are sent, only with a credential that the origin has accepted.",
                "Send one while the origin is reachable."
            )
        case .hasDependents:
            (
                "Other queued writes name what this create would make.", "Discard them too, with cascade=true."
            )
        case .operationBusy:
            (
                "What is asked to change is being sent, or may be in effect already.",
                "Wait for its outcome (/cache/operations), then ask again. A write that is not being sent is given up with force=true."
            )
        case .uploadOffset:
            (
                "The part begins elsewhere than the bytes on disk end.", "Go on from Upload-Offset of the answer."
            )
        case .uploadIncomplete: ("A write names an upload that lacks bytes.", "Append the rest, then write.")
        case .uploadSealed: ("A write has used the upload up.", "Begin another with POST /cache/uploads.")
        case .operationsPending:
            (
                "Unfinished writes or a conflict need what is to be given up.",
                "Deliver or discard them first; leave=true detaches a store with them, discard=true gives an entry's up."
            )
        case .notFailed:
            (
                "Only a stopped write can be edited, and only one that has stopped or waits for a time be retried.",
                "Look at its state in /cache/operations."
            )
        case .tooManyActions:
            (
                "The list of waiting jobs is full.", "Cancel some under /cache/actions, or wait for those that run."
            )
        case .expectation: ("Only Expect: 100-continue is known.", "Leave the field out.")
        case .requestTimeout:
            (
                "The head did not arrive within limits.head, or a body stood still.",
                "Send it again, a long body in parts (/cache/uploads)."
            )
        case .lineTooLong: ("The request line passes the limit for heads.", "Shorten the target.")
        case .headTooLarge: ("There are too many header fields, or too many bytes of them.", "Send fewer.")
        case .busy:
            (
                "limits.connections are open.", "Close idle ones, raise the limit, or ask again later."
            )
        case .transferCoding:
            ("Only the transfer coding chunked is known for requests.", "Send chunked or a Content-Length.")
        case .version: ("The request is of another version than HTTP/1.0 and 1.1.", "Send HTTP/1.1.")
        case .internalError:
            ("A fault of Holdfast; what was accepted is safe on disk.", "Report it with the line of the log.")
        }
    }
}
