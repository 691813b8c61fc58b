/// openapi.yaml, word for word; a test compares them.
enum OpenAPIText {
    static let yaml = ##"""
        openapi: 3.1.0
        info: {title: Holdfast, version: 1.0.0, description: An offline-first HTTP cache and write queue beside an application. HEAD
            is answered wherever GET is. Other methods are 405 with Allow; every refusal is application/problem+json (RFC 9457).}
        servers:
        - {url: 'http://127.0.0.1:8080'}
        security:
        - {}
        - token: []
        - bearer: []
        tags:
        - {name: resources}
        - {name: service}
        - {name: entries}
        - {name: operations}
        - {name: conflicts}
        - {name: uploads}
        - {name: partitions}
        - {name: stores}
        - {name: health}
        paths:
          /cache:
            get:
              operationId: overview
              summary: State of the service
              tags: [service]
              responses:
                '200':
                  description: State, counters, sizes and limits in bytes.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Overview'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/mode:
            get:
              operationId: getMode
              summary: The cache mode
              tags: [service]
              responses:
                '200':
                  description: The mode in force.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Mode'}
                      example:
                        automatic: {}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setMode
              summary: Set the cache mode until the next restart
              tags: [service]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Mode'}
                    example:
                      automatic: {}
              responses:
                '200':
                  description: The mode in force.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Mode'}
                      example:
                        automatic: {}
                default: {$ref: '#/components/responses/Problem'}
          /cache/network:
            get:
              operationId: getNetwork
              summary: The network state
              tags: [service]
              responses:
                '200':
                  description: The state.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Network'}
                      example: {state: online, offline: false}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setNetwork
              summary: Force offline, or judge automatically
              tags: [service]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Offline'}
                    example: {offline: true}
              responses:
                '200':
                  description: The state.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Network'}
                      example: {state: offline-forced, offline: true}
                default: {$ref: '#/components/responses/Problem'}
          /cache/suspended:
            get:
              operationId: getSuspended
              summary: Whether delivery is suspended
              tags: [service]
              responses:
                '200':
                  description: Whether it is.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Suspended'}
                      example: {suspended: false}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setSuspended
              summary: Pause or resume delivery
              tags: [service]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Suspended'}
                    example: {suspended: true}
              responses:
                '200':
                  description: Whether it is.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Suspended'}
                      example: {suspended: true}
                default: {$ref: '#/components/responses/Problem'}
          /cache/policies:
            get:
              operationId: getPolicies
              summary: Policies by path, and the default
              tags: [service]
              responses:
                '200':
                  description: The policies in force.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Policies'}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setPolicies
              summary: Replace the policies until reload or restart
              tags: [service]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Policies'}
                    example:
                      policies:
                      - {path: /items/**, fetchPolicy: FETCH_WITH_REFRESH}
                      defaultPolicy: {}
              responses:
                '200':
                  description: The policies in force.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Policies'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/entry:
            get:
              operationId: getEntry
              summary: One entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              responses:
                '200':
                  description: What is kept.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Entry'}
                      examples:
                        entry: {$ref: '#/components/examples/Entry'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: evictEntry
              summary: Evict one entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              - name: discard
                in: query
                description: Give up queued writes and conflicts of it too.
                schema: {type: boolean, default: false}
              responses:
                '204': {$ref: '#/components/responses/Done'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/entry/policy:
            get:
              operationId: getEntryPolicy
              summary: The policy kept with the entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              responses:
                '200':
                  description: Fields that are set.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Policy'}
                      example: {}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setEntryPolicy
              summary: Keep a policy with the entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Policy'}
                    example: {expirationPolicy: NEVER_EXPIRE}
              responses:
                '200':
                  description: Fields that are set.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Policy'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: removeEntryPolicy
              summary: Remove the policy kept with the entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              responses:
                '204': {$ref: '#/components/responses/Done'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/entry/pin:
            get:
              operationId: getPin
              summary: The pin
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              responses:
                '200':
                  description: The pin.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Pin'}
                      example: {priority: high}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setPin
              summary: Pin the entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Pin'}
                    example: {priority: high}
              responses:
                '200':
                  description: The pin.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Pin'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: removePin
              summary: Unpin the entry
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              responses:
                '204': {$ref: '#/components/responses/Done'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/entry/refresh:
            post:
              operationId: refreshEntry
              summary: Ask the origin now
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/target'}
              - {$ref: '#/components/parameters/partition'}
              responses:
                '200':
                  description: What is kept then.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Entry'}
                      examples:
                        entry: {$ref: '#/components/examples/Entry'}
                '404': {$ref: '#/components/responses/Problem'}
                '502': {$ref: '#/components/responses/Problem'}
                '503': {$ref: '#/components/responses/Problem'}
                '504': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/entries:
            get:
              operationId: listEntries
              summary: Entries with something kept in the store, or with an edit
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/prefix'}
              - name: state
                in: query
                description: State of the entry.
                schema: {$ref: '#/components/schemas/EntryState'}
              - {$ref: '#/components/parameters/tag'}
              - {$ref: '#/components/parameters/partitionList'}
              - {$ref: '#/components/parameters/limit'}
              - {$ref: '#/components/parameters/after'}
              responses:
                '200':
                  description: One page.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Entries'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: evictEntries
              summary: Evict entries that are clean and not pinned
              tags: [entries]
              parameters:
              - {$ref: '#/components/parameters/prefix'}
              - name: state
                in: query
                description: 'Only synced and listed: others are never evicted together.'
                schema: {type: string, enum: [synced, listed]}
              - {$ref: '#/components/parameters/tag'}
              - {$ref: '#/components/parameters/partitionList'}
              responses:
                '200':
                  description: How many.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Evicted'}
                      example: {evicted: 3}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/operations:
            get:
              operationId: listOperations
              summary: Queued writes and receipts
              tags: [operations]
              parameters:
              - name: state
                in: query
                description: May be repeated.
                schema:
                  type: array
                  items: {$ref: '#/components/schemas/OperationState'}
              - {$ref: '#/components/parameters/partitionList'}
              - {$ref: '#/components/parameters/limit'}
              - {$ref: '#/components/parameters/after'}
              responses:
                '200':
                  description: One page.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Operations'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: discardOperations
              summary: Discard all local edits; the server's copies stay
              description: 'Those that are on their way to the origin, or may be in effect there already, stay and count as left.'
              tags: [operations]
              parameters:
              - {$ref: '#/components/parameters/partitionList'}
              responses:
                '200':
                  description: How many.
                  content:
                    application/json:
                      schema:
                        type: object
                        properties:
                          discarded: {type: integer}
                          left: {type: integer}
                        required: [discarded, left]
                      example: {discarded: 3, left: 0}
                default: {$ref: '#/components/responses/Problem'}
          /cache/operations/{id}:
            parameters:
            - {$ref: '#/components/parameters/operationID'}
            get:
              operationId: getOperation
              summary: One operation
              tags: [operations]
              responses:
                '200':
                  description: The operation.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Operation'}
                      examples:
                        operation: {$ref: '#/components/examples/Operation'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            patch:
              operationId: editOperation
              summary: Edit a failed operation
              tags: [operations]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/OperationEdit'}
                    example:
                      headers: {X-Reason: null}
                      body: {name: x}
              responses:
                '200':
                  description: The operation, pending again.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Operation'}
                      examples:
                        operation: {$ref: '#/components/examples/Operation'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: discardOperation
              summary: Discard the edit
              tags: [operations]
              parameters:
              - name: cascade
                in: query
                description: Discard what depends on it too.
                schema: {type: boolean, default: false}
              responses:
                '200':
                  description: What was discarded.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Operations'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/operations/{id}/body:
            parameters:
            - {$ref: '#/components/parameters/operationID'}
            get:
              operationId: getOperationBody
              summary: The bytes to send
              tags: [operations]
              responses:
                '200':
                  description: The bytes, with the media type of the write.
                  content:
                    '*/*':
                      schema: {}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/operations/{id}/retry:
            parameters:
            - {$ref: '#/components/parameters/operationID'}
            post:
              operationId: retryOperation
              summary: Try again now
              description: >-
                What has stopped goes on; what waits for a time, Retry-After of the origin too, is sent at once. 409 not-failed where it is under
                way or waits for a credential.
              tags: [operations]
              responses:
                '200':
                  description: The operation.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Operation'}
                      examples:
                        operation: {$ref: '#/components/examples/Operation'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/events:
            get:
              operationId: listenToEvents
              summary: What happens, as server-sent events
              description: >-
                Goes on until the client leaves. Each event has an id, its type and one line of data, an Event as JSON. The first line tells where
                the stream stands; comments in between show that it lives. A client that comes back with Last-Event-ID gets what it missed,
                or a resync where that is no longer known: read again what is shown. So does one that reads too slowly, whose stream ends then.
              tags: [service]
              parameters:
              - {$ref: '#/components/parameters/partitionList'}
              - name: Last-Event-ID
                in: header
                description: The id of the last event that was read.
                schema: {type: string}
              responses:
                '200':
                  description: Events of the caller's partition, of none, and of the service.
                  content:
                    text/event-stream:
                      schema: {type: string}
                      example: |
                        id: 3-17

                        id: 3-18
                        event: network
                        data: {"id":"3-18","type":"network","at":"2026-01-02T03:04:05Z","network":{"from":"online","to":"offline"}}

                default: {$ref: '#/components/responses/Problem'}
          /cache/ui:
            get:
              operationId: page
              summary: A page for people
              description: Network, stores, queue, failed writes and conflicts, live. It asks for the token itself; its files lie below this path.
              tags: [service]
              security: []
              responses:
                '200':
                  description: The page.
                  content:
                    text/html:
                      schema: {type: string}
                default: {$ref: '#/components/responses/Problem'}
          /cache/sync:
            post:
              operationId: sync
              summary: Deliver now
              description: What waits for a time, Retry-After of the origin too, is due at once.
              tags: [operations]
              parameters:
              - name: wait
                in: query
                description: Seconds to wait.
                schema: {type: number, minimum: 0, maximum: 3600, default: 0}
              responses:
                '200':
                  description: What became of each unfinished operation.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/SyncResult'}
                      example:
                        network: online
                        offline: false
                        suspended: false
                        items: []
                default: {$ref: '#/components/responses/Problem'}
          /cache/conflicts:
            get:
              operationId: listConflicts
              summary: Conflicts
              tags: [conflicts]
              parameters:
              - name: closed
                in: query
                description: Show closed ones too.
                schema: {type: boolean, default: false}
              - {$ref: '#/components/parameters/partitionList'}
              - {$ref: '#/components/parameters/limit'}
              - {$ref: '#/components/parameters/after'}
              responses:
                '200':
                  description: One page.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Conflicts'}
                      example:
                        items: []
                default: {$ref: '#/components/responses/Problem'}
          /cache/conflicts/{id}:
            parameters:
            - {$ref: '#/components/parameters/conflictID'}
            get:
              operationId: getConflict
              summary: One conflict
              tags: [conflicts]
              responses:
                '200':
                  description: All versions.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Conflict'}
                  headers:
                    ETag:
                      description: For If-Match of a resolution.
                      schema: {type: string}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/conflicts/{id}/base:
            parameters:
            - {$ref: '#/components/parameters/conflictID'}
            get:
              operationId: getConflictBase
              summary: Bytes of the base version
              tags: [conflicts]
              responses:
                '200': {$ref: '#/components/responses/Version'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/conflicts/{id}/client:
            parameters:
            - {$ref: '#/components/parameters/conflictID'}
            get:
              operationId: getConflictClient
              summary: Bytes of the client version
              tags: [conflicts]
              responses:
                '200': {$ref: '#/components/responses/Version'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/conflicts/{id}/server:
            parameters:
            - {$ref: '#/components/parameters/conflictID'}
            get:
              operationId: getConflictServer
              summary: Bytes of the server version
              tags: [conflicts]
              responses:
                '200': {$ref: '#/components/responses/Version'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/conflicts/{id}/resolution:
            parameters:
            - {$ref: '#/components/parameters/conflictID'}
            post:
              operationId: resolveConflict
              summary: Resolve a conflict
              tags: [conflicts]
              parameters:
              - name: If-Match
                in: header
                description: The ETag of the conflict.
                schema: {type: string}
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Resolution'}
                    example: {keep: client}
              responses:
                '200':
                  description: The origin took it.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Entry'}
                      examples:
                        entry: {$ref: '#/components/examples/Entry'}
                '202':
                  description: 'Offline: queued. Sent without an answer: queued as `unknown`, to be looked at.'
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Operation'}
                      examples:
                        operation: {$ref: '#/components/examples/Operation'}
                  headers:
                    Sync-Operation: {$ref: '#/components/headers/Sync-Operation'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '412': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '502': {$ref: '#/components/responses/Problem'}
                '503': {$ref: '#/components/responses/Problem'}
                '504': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/uploads:
            get:
              operationId: listUploads
              summary: Uploads
              tags: [uploads]
              parameters:
              - {$ref: '#/components/parameters/partitionList'}
              - {$ref: '#/components/parameters/limit'}
              - {$ref: '#/components/parameters/after'}
              responses:
                '200':
                  description: A page, in the order in which they were begun.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Uploads'}
                      example:
                        items: []
                default: {$ref: '#/components/responses/Problem'}
            post:
              operationId: createUpload
              summary: Begin an upload
              description: For bodies that are to survive broken connections. It belongs to the partition of the request, and goes
                when nobody has touched it for a day. A body of the request is the first part.
              tags: [uploads]
              parameters:
              - name: Upload-Length
                in: header
                description: What the whole will have, in bytes. Without it all is used that is there.
                schema: {type: integer, minimum: 0}
              - name: Content-Digest
                in: header
                description: Of the first part (RFC 9530); sha-256 and sha-512 are compared.
                schema: {type: string}
              requestBody:
                content:
                  '*/*':
                    schema: {}
              responses:
                '201':
                  description: Begun.
                  headers:
                    Location:
                      description: Of the upload.
                      required: true
                      schema: {type: string}
                    Upload-Offset:
                      description: Bytes that are here, on disk.
                      required: true
                      schema: {type: integer, minimum: 0}
                    Upload-Length:
                      description: What the whole will have, where that was announced.
                      schema: {type: integer, minimum: 0}
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Upload'}
                      example: {id: 01KC0000000000000000000000, partition: '', mediaType: image/png, length: 4, offset: 2, complete: false,
                        used: false, createdAt: '2026-01-02T03:04:05Z', changedAt: '2026-01-02T03:04:05Z'}
                '409': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/uploads/{id}:
            parameters:
            - {$ref: '#/components/parameters/uploadID'}
            get:
              operationId: getUpload
              summary: One upload; HEAD tells its offset
              tags: [uploads]
              responses:
                '200':
                  description: As it stands.
                  headers:
                    Upload-Offset:
                      description: Bytes that are here, on disk.
                      required: true
                      schema: {type: integer, minimum: 0}
                    Upload-Length:
                      description: What the whole will have, where that was announced.
                      schema: {type: integer, minimum: 0}
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Upload'}
                      example: {id: 01KC0000000000000000000000, partition: '', mediaType: image/png, length: 4, offset: 2, complete: false,
                        used: false, createdAt: '2026-01-02T03:04:05Z', changedAt: '2026-01-02T03:04:05Z'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            patch:
              operationId: appendToUpload
              summary: Append a part
              description: What has arrived when the connection breaks counts; HEAD tells how much that is.
              tags: [uploads]
              parameters:
              - name: Upload-Offset
                in: header
                required: true
                description: Where this part begins; the upload must stand there.
                schema: {type: integer, minimum: 0}
                example: 2
              - name: Content-Digest
                in: header
                description: Of the part (RFC 9530); a part with other bytes is taken back.
                schema: {type: string}
              requestBody:
                content:
                  '*/*':
                    schema: {}
              responses:
                '204':
                  description: It is on disk.
                  headers:
                    Upload-Offset:
                      description: Bytes that are here, on disk.
                      required: true
                      schema: {type: integer, minimum: 0}
                    Upload-Length:
                      description: What the whole will have, where that was announced.
                      schema: {type: integer, minimum: 0}
                '409':
                  description: The upload stands at another offset (upload-offset, with the present one in Upload-Offset and offset),
                    or a write has used it (upload-sealed).
                  headers:
                    Upload-Offset:
                      description: Where it stands.
                      schema: {type: integer, minimum: 0}
                  content:
                    application/problem+json:
                      schema: {$ref: '#/components/schemas/Problem'}
                      example: {type: /problems/upload-offset, title: The upload stands at another offset, status: 409, detail: Send
                          the part that begins at byte 2., instance: /cache/uploads/x, offset: 2}
                '404': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: dropUpload
              summary: Drop an upload
              tags: [uploads]
              responses:
                '204': {$ref: '#/components/responses/Done'}
                '404': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/save:
            post:
              operationId: save
              summary: Save the cached copies now
              tags: [service]
              parameters:
              - name: reason
                in: query
                description: background stands for an application that goes to the background; only the mode automatic saves then.
                schema: {type: string, enum: [demand, background], default: demand}
              responses:
                '200':
                  description: Whether the mode saves for this reason.
                  content:
                    application/json:
                      schema: {type: object, properties: {saved: {type: boolean}}, required: [saved]}
                default: {$ref: '#/components/responses/Problem'}
          /cache/snapshot:
            get:
              operationId: getSnapshot
              summary: The kept copies, policies and pins as one stream
              description: |
                Lines of JSON: a header with the version of the format; each entry, followed by the bodies of its copies in pieces
                (Base64); and the end with the count of entries and the SHA-256 of all lines before. The member check of a line is made
                of all before it. Never operations, conflicts or secrets. 404 in the mode no.
              tags: [service]
              parameters:
              - name: partitions
                in: query
                description: all adds the copies of each partition, with the key that partitions are made with; otherwise what is nobody's alone.
                schema: {type: string, enum: [all]}
              responses:
                '200':
                  description: The snapshot, in chunks. One that ends without its last line is cut.
                  content:
                    application/x-ndjson:
                      schema: {type: string}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setSnapshot
              summary: Load a snapshot, all of it or nothing
              description: |
                Copies are added and replaced, in one transaction a store. What has an edit, an operation or an open conflict stays as it is.
                One that is cut or corrupt is refused with the number of the line.
              tags: [service]
              requestBody:
                required: true
                content:
                  application/x-ndjson:
                    schema: {type: string}
              responses:
                '200':
                  description: How many entries it has.
                  content:
                    application/json:
                      schema: {type: object, properties: {entries: {type: integer}}, required: [entries]}
                default: {$ref: '#/components/responses/Problem'}
          /cache/stores:
            get:
              operationId: listStores
              summary: Attached stores
              tags: [stores]
              responses:
                '200':
                  description: The default one first.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Stores'}
                default: {$ref: '#/components/responses/Problem'}
            post:
              operationId: attachStores
              summary: Attach a store, or several at one location
              tags: [stores]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {oneOf: [{$ref: '#/components/schemas/StoreRequest'}, {type: array, items: {$ref: '#/components/schemas/StoreRequest'}}]}
                    example: {name: users, paths: ['/users/**'], maxStoreSize: 64MiB}
              responses:
                '201':
                  description: Attached. One for an object, a list for an array; where one of several fails those before it stay attached.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Attached'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/stores/{name}:
            parameters:
            - {name: name, in: path, required: true, schema: {type: string, minLength: 1}}
            get:
              operationId: getStore
              summary: One store
              tags: [stores]
              responses:
                '200':
                  description: The store.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Store'}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: setStore
              summary: Start or stop a store
              tags: [stores]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {type: object, properties: {started: {type: boolean}}, required: [started], additionalProperties: false}
                    example: {started: false}
              responses:
                '200':
                  description: As it is now. A second start or stop changes nothing.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Store'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: detachStore
              summary: Detach a store; its files stay
              tags: [stores]
              parameters:
              - name: leave
                in: query
                description: Whether unfinished operations may wait in the store; without it they make this a 409.
                schema: {type: boolean, default: false}
              responses:
                '204':
                  description: Detached. Its targets pass through until it is attached again.
                default: {$ref: '#/components/responses/Problem'}
          /cache/partitions:
            get:
              operationId: listPartitions
              summary: Partitions with entries
              tags: [partitions]
              responses:
                '200':
                  description: All that the caller may see.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Partitions'}
                      example:
                        items:
                        - {id: '', entries: 3, own: true}
                default: {$ref: '#/components/responses/Problem'}
          /cache/partitions/{id}:
            parameters:
            - {$ref: '#/components/parameters/partitionID'}
            get:
              operationId: getPartition
              summary: One partition
              tags: [partitions]
              responses:
                '200':
                  description: The partition.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Partition'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /cache/partitions/{id}/adopt:
            parameters:
            - {$ref: '#/components/parameters/partitionID'}
            post:
              operationId: adoptPartition
              summary: Hand a partition over to the credential of this request
              tags: [partitions]
              responses:
                '200':
                  description: Done.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Adopted'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '507': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /health/live:
            get:
              operationId: live
              summary: Liveness
              tags: [health]
              responses:
                '200':
                  description: The process answers.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Status'}
                      example: {status: live}
                default: {$ref: '#/components/responses/Problem'}
          /health/ready:
            get:
              operationId: ready
              summary: Readiness
              tags: [health]
              responses:
                '200':
                  description: Ready, or degraded where the store can't write or a body on disk was found damaged.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Status'}
                      example: {status: ready, store: ok, network: online}
                '503':
                  description: Starting or stopping.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Status'}
                      example: {status: not-ready, store: ok, network: offline}
                default: {$ref: '#/components/responses/Problem'}
          /metrics:
            get:
              operationId: metrics
              summary: Prometheus text
              tags: [health]
              responses:
                '200':
                  description: Metrics.
                  content:
                    text/plain:
                      schema: {type: string}
                default: {$ref: '#/components/responses/Problem'}
          /openapi.yaml:
            get:
              operationId: contract
              summary: This contract
              tags: [health]
              responses:
                '200':
                  description: The contract.
                  content:
                    application/yaml:
                      schema: {}
                default: {$ref: '#/components/responses/Problem'}
          /problems/{code}:
            parameters:
            - name: code
              in: path
              required: true
              description: Last part of a problem type.
              schema: {type: string}
              example: not-found
            get:
              operationId: problem
              summary: What a problem means
              tags: [health]
              responses:
                '200':
                  description: A page.
                  content:
                    text/html:
                      schema: {type: string}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /resources/{target}:
            parameters:
            - {$ref: '#/components/parameters/resourceTarget'}
            get:
              operationId: readResource
              summary: Read
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/wantReprDigest'}
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/ifModifiedSince'}
              - {$ref: '#/components/parameters/range'}
              - {$ref: '#/components/parameters/ifRange'}
              - {$ref: '#/components/parameters/persistentState'}
              - {$ref: '#/components/parameters/syncFilter'}
              - {$ref: '#/components/parameters/syncSort'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '304': {$ref: '#/components/responses/NotModified'}
                default: {$ref: '#/components/responses/Refusal'}
            head:
              operationId: headResource
              summary: Read the head
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/wantReprDigest'}
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/ifModifiedSince'}
              - {$ref: '#/components/parameters/range'}
              - {$ref: '#/components/parameters/ifRange'}
              - {$ref: '#/components/parameters/persistentState'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '304': {$ref: '#/components/responses/NotModified'}
                default: {$ref: '#/components/responses/Refusal'}
            put:
              operationId: putResource
              summary: Replace or create
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/saveIfOfflineField'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/upload'}
              - {$ref: '#/components/parameters/reprDigest'}
              - {$ref: '#/components/parameters/saveIfOffline'}
              requestBody: {$ref: '#/components/requestBodies/Content'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
            post:
              operationId: postResource
              summary: Create a member, or act
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/saveIfOfflineField'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/upload'}
              - {$ref: '#/components/parameters/reprDigest'}
              - {$ref: '#/components/parameters/saveIfOffline'}
              requestBody: {$ref: '#/components/requestBodies/Content'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
            patch:
              operationId: patchResource
              summary: Change in part
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/saveIfOfflineField'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/upload'}
              - {$ref: '#/components/parameters/reprDigest'}
              - {$ref: '#/components/parameters/saveIfOffline'}
              requestBody: {$ref: '#/components/requestBodies/Patch'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
            delete:
              operationId: deleteResource
              summary: Delete
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/deleteIfOfflineField'}
              - {$ref: '#/components/parameters/deleteIfOffline'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
          /files/{target}:
            parameters:
            - {$ref: '#/components/parameters/resourceTarget'}
            get:
              operationId: readFile
              summary: Read
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/wantReprDigest'}
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/ifModifiedSince'}
              - {$ref: '#/components/parameters/range'}
              - {$ref: '#/components/parameters/ifRange'}
              - {$ref: '#/components/parameters/persistentState'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '304': {$ref: '#/components/responses/NotModified'}
                default: {$ref: '#/components/responses/Refusal'}
            head:
              operationId: headFile
              summary: Read the head
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/wantReprDigest'}
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/ifModifiedSince'}
              - {$ref: '#/components/parameters/range'}
              - {$ref: '#/components/parameters/ifRange'}
              - {$ref: '#/components/parameters/persistentState'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '304': {$ref: '#/components/responses/NotModified'}
                default: {$ref: '#/components/responses/Refusal'}
            put:
              operationId: putFile
              summary: Replace or create
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/saveIfOfflineField'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/upload'}
              - {$ref: '#/components/parameters/reprDigest'}
              - {$ref: '#/components/parameters/saveIfOffline'}
              requestBody: {$ref: '#/components/requestBodies/Content'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
            post:
              operationId: postFile
              summary: Create a member, or act
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/saveIfOfflineField'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/upload'}
              - {$ref: '#/components/parameters/reprDigest'}
              - {$ref: '#/components/parameters/saveIfOffline'}
              requestBody: {$ref: '#/components/requestBodies/Content'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
            patch:
              operationId: patchFile
              summary: Change in part
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/saveIfOfflineField'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/upload'}
              - {$ref: '#/components/parameters/reprDigest'}
              - {$ref: '#/components/parameters/saveIfOffline'}
              requestBody: {$ref: '#/components/requestBodies/Patch'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
            delete:
              operationId: deleteFile
              summary: Delete
              tags: [resources]
              parameters:
              - {$ref: '#/components/parameters/syncPolicy'}
              - {$ref: '#/components/parameters/ifMatch'}
              - {$ref: '#/components/parameters/ifNoneMatch'}
              - {$ref: '#/components/parameters/idempotencyKey'}
              - {$ref: '#/components/parameters/prefer'}
              - {$ref: '#/components/parameters/deleteIfOfflineField'}
              - {$ref: '#/components/parameters/deleteIfOffline'}
              responses:
                2XX: {$ref: '#/components/responses/Answer'}
                '202': {$ref: '#/components/responses/Queued'}
                default: {$ref: '#/components/responses/Refusal'}
        components:
          securitySchemes:
            token: {type: apiKey, in: header, name: Holdfast-Token}
            bearer: {type: http, scheme: bearer}
          parameters:
            target:
              name: target
              in: query
              description: 'The target: empty, or begins with / or ?. No dot segments, spaces, backslashes or //.'
              schema: {type: string, pattern: '^(?!//)(?![^?]*/(\.|%2[eE]){1,2}([/?]|$))(/[^\x00-\x20\x7F#?\\]*)?(\?[^\x00-\x20\x7F#]*)?$'}
              required: true
              example: /items/1
            partition:
              name: partition
              in: query
              description: Id of a partition; another than the own or none needs a full token.
              schema: {type: string, pattern: '^([0-9a-f]{32})?$'}
            partitionList:
              name: partition
              in: query
              description: Id of a partition, or *; needs a full token.
              schema: {type: string, pattern: '^([0-9a-f]{32}|\*)?$'}
            limit:
              name: limit
              in: query
              description: Items of a page.
              schema: {type: integer, minimum: 1, maximum: 1000, default: 100}
            after:
              name: after
              in: query
              description: next of the page before.
              schema: {type: string}
            operationID:
              name: id
              in: path
              required: true
              description: Id of the operation.
              schema: {type: string, minLength: 1}
              example: 01KC0000000000000000000000
            conflictID:
              name: id
              in: path
              required: true
              description: Id of the conflict.
              schema: {type: string, minLength: 1}
              example: 01KC0000000000000000000000
            uploadID:
              name: id
              in: path
              required: true
              description: Id of the upload.
              schema: {type: string, minLength: 1}
              example: 01KC0000000000000000000000
            partitionID:
              name: id
              in: path
              required: true
              description: Id of the partition.
              schema: {type: string, minLength: 1}
              example: 0123456789abcdef0123456789abcdef
            resourceTarget:
              name: target
              in: path
              required: true
              description: Path and query at the origin, byte for byte; it may hold slashes.
              schema: {type: string}
              example: items/1
            wantReprDigest:
              name: Want-Repr-Digest
              in: header
              description: Asks for Repr-Digest of what is kept, by SHA-256 (RFC 9530); Want-Content-Digest likewise.
              schema: {type: string}
            syncPolicy:
              name: Sync-Policy
              in: header
              description: Policy fields as a structured-field dictionary (RFC 9651).
              schema: {type: string}
            ifNoneMatch:
              name: If-None-Match
              in: header
              description: Precondition.
              schema: {type: string}
            ifModifiedSince:
              name: If-Modified-Since
              in: header
              description: Precondition.
              schema: {type: string}
            range:
              name: Range
              in: header
              description: Part of the content.
              schema: {type: string}
            ifRange:
              name: If-Range
              in: header
              description: Precondition of Range.
              schema: {type: string}
            persistentState:
              name: persistentState
              in: query
              description: Ask for the server copy although an edit is pending.
              schema: {type: boolean}
            tag:
              name: tag
              in: query
              description: >-
                Group that the origin put the answer into: an element of Cache-Tag or Surrogate-Key, or a name in Cache-Groups
                (RFC 9875).
              schema: {type: string}
            syncFilter:
              name: Sync-Filter
              in: header
              description: >-
                Members of a list to answer, from the effective copies, never from the origin: terms joined by commas, all of which
                must hold. A term is a path (a.b or a JSON pointer), one of = != < <= > >=, and a JSON string, number, true, false
                or null. 404 where the list is not kept, 400 where it is no list or the filter can't be read.
              schema: {type: string}
            syncSort:
              name: Sync-Sort
              in: header
              description: >-
                Order of a list's members, answered as Sync-Filter: paths joined by commas, a minus before one turns it around. Numbers
                come before strings before booleans; members without such a value come last.
              schema: {type: string}
            saveIfOfflineField:
              name: Save-If-Offline
              in: header
              description: Like saveIfOffline.
              schema: {type: boolean}
            ifMatch:
              name: If-Match
              in: header
              description: Precondition.
              schema: {type: string}
            idempotencyKey:
              name: Idempotency-Key
              in: header
              description: Names the request; a repeat gets its receipt or answer.
              schema: {type: string}
            prefer:
              name: Prefer
              in: header
              description: return=representation, return=minimal, wait=N.
              schema: {type: string}
            upload:
              name: Upload
              in: header
              description: Id of a complete upload, which is the body; the request has none of its own then.
              schema: {type: string}
            reprDigest:
              name: Repr-Digest
              in: header
              description: Of the body (RFC 9530); sha-256 and sha-512 are compared, Content-Digest too.
              schema: {type: string}
            saveIfOffline:
              name: saveIfOffline
              in: query
              description: Whether the write may be queued while offline.
              schema: {type: boolean}
            deleteIfOfflineField:
              name: Delete-If-Offline
              in: header
              description: Like deleteIfOffline.
              schema: {type: boolean}
            deleteIfOffline:
              name: deleteIfOffline
              in: query
              description: Whether the delete may be queued while offline.
              schema: {type: boolean}
            prefix:
              name: prefix
              in: query
              description: Start of the target.
              schema: {type: string}
          headers:
            Sync-Operation:
              description: Id of the operation.
              schema: {type: string}
            Cache-Status:
              description: RFC 9211.
              schema: {type: string}
            Sync-State:
              description: State of the entry.
              schema: {type: string}
            Sync-Outcome:
              description: server-wins where the policy dropped the edit.
              schema: {type: string}
            Idempotency-Replayed:
              description: true where a kept answer was given.
              schema: {type: string}
          requestBodies:
            Content:
              content:
                application/json:
                  schema: {}
                '*/*':
                  schema: {}
            Patch:
              content:
                application/merge-patch+json:
                  schema: {}
                application/json-patch+json:
                  schema: {}
          responses:
            Problem:
              description: A refusal, with what to do about it. Any route may answer 400, 401, 403, 405, 408, 413, 414, 421, 431,
                500 or 505; those that are listed beside it are of the route itself.
              content:
                application/problem+json:
                  schema: {$ref: '#/components/schemas/Problem'}
                  example: {type: /problems/not-found, title: There is nothing here, status: 404, detail: There is no such operation.,
                    instance: /cache/operations/x}
            Done: {description: Done.}
            Version:
              description: The bytes, with their media type.
              content:
                '*/*':
                  schema: {}
            Answer:
              description: The answer of the origin, a kept copy, or the effective copy.
              headers:
                Cache-Status: {$ref: '#/components/headers/Cache-Status'}
                Sync-State: {$ref: '#/components/headers/Sync-State'}
                Sync-Operation: {$ref: '#/components/headers/Sync-Operation'}
                Sync-Outcome: {$ref: '#/components/headers/Sync-Outcome'}
                Idempotency-Replayed: {$ref: '#/components/headers/Idempotency-Replayed'}
              content:
                '*/*':
                  schema: {}
            Queued:
              description: 'Queued: on disk, to be delivered. With Prefer, the effective copy or no body.'
              headers:
                Cache-Status: {$ref: '#/components/headers/Cache-Status'}
                Sync-State: {$ref: '#/components/headers/Sync-State'}
                Sync-Operation: {$ref: '#/components/headers/Sync-Operation'}
                Sync-Outcome: {$ref: '#/components/headers/Sync-Outcome'}
                Idempotency-Replayed: {$ref: '#/components/headers/Idempotency-Replayed'}
              content:
                application/json:
                  schema: {$ref: '#/components/schemas/Receipt'}
                '*/*':
                  schema: {}
            NotModified: {description: The copy that the client holds is still right. No content.}
            Refusal:
              description: 'A redirect or refusal of the origin, as it is, or a refusal of Holdfast as application/problem+json. Its
                own: 400 bad-target, bad-policy, content-type; 401 access-token, credential-unproven; 403 origin, read-only-token;
                404 not-cached; 409 conflict, patch-conflict, lane-stopped, lane-pending; 412 precondition, conflict; 413 too-large;
                415 patch-type; 421 host; 422 key-reused; 502 bad-answer, loop; 503 offline, offline-update-rejected, method-not-queueable;
                504 offline, only-if-cached, origin-timeout, outcome-unknown; 507 store-full, store-failed.'
              headers:
                Cache-Status: {$ref: '#/components/headers/Cache-Status'}
                Sync-State: {$ref: '#/components/headers/Sync-State'}
                Sync-Operation: {$ref: '#/components/headers/Sync-Operation'}
                Sync-Outcome: {$ref: '#/components/headers/Sync-Outcome'}
                Idempotency-Replayed: {$ref: '#/components/headers/Idempotency-Replayed'}
              content:
                application/problem+json:
                  schema: {$ref: '#/components/schemas/Problem'}
                '*/*':
                  schema: {}
          examples:
            Entry:
              value:
                target: /items/1
                partition: ''
                kind: item
                state: synced
                variants: 1
                hasOfflineUpdates: false
                hasConflicts: false
                hasOfflineCommitError: false
                policy: {}
                lastSync: '2026-01-02T03:04:05Z'
                serverCopy: {status: 200, etag: '"v1"', mediaType: application/json, storedAt: '2026-01-02T03:04:05Z', size: 17, expired: false,
                  headers: {Content-Type: application/json, ETag: '"v1"'}, listed: false}
            Operation:
              value:
                id: 01KC0000000000000000000000
                kind: edit
                method: PUT
                target: /items/1
                partition: ''
                state: pending
                idempotencyKey: hf-01
                headers: {Content-Type: application/json}
                createdAt: '2026-01-02T03:04:05Z'
                attempts: 0
                bodySize: 17
                dependsOn: []
                links: {operation: /cache/operations/01KC0000000000000000000000, body: /cache/operations/01KC0000000000000000000000/body,
                  entry: '/cache/entry?target=%2Fitems%2F1'}
          schemas:
            Upload:
              type: object
              properties:
                id: {type: string}
                partition: {type: string}
                mediaType: {type: string, description: For a write that says no Content-Type.}
                length: {type: integer, description: What was announced.}
                offset: {type: integer, description: Bytes that are here.}
                complete: {type: boolean, description: Whether a write may use it.}
                used: {type: boolean, description: 'Whether a write has: then it takes no more bytes.'}
                createdAt: {type: string, format: date-time}
                changedAt: {type: string, format: date-time}
              required: [id, partition, offset, complete, used, createdAt, changedAt]
            Uploads:
              type: object
              properties:
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Upload'}
                next: {type: string}
              required: [items]
            Problem:
              type: object
              properties:
                type: {type: string}
                title: {type: string}
                status: {type: integer}
                detail: {type: string}
                instance: {type: string}
              required: [type, title, status, detail]
            Overview:
              type: object
              properties:
                network: {$ref: '#/components/schemas/NetworkState'}
                identity:
                  type: string
                  enum: [checked, unchecked]
                mode: {$ref: '#/components/schemas/Mode'}
                startedAt: {type: string, format: date-time}
                hits: {type: integer}
                misses: {type: integer}
                sizes:
                  type: object
                  properties:
                    copies: {type: integer}
                    operations: {type: integer}
                    view: {type: integer}
                    damagedBodies: {type: integer, description: Bodies on disk that were set aside and not stored anew since.}
                  required: [copies, operations, view, damagedBodies]
                limits:
                  type: object
                  properties:
                    store: {type: integer}
                    body: {type: integer}
                    json: {type: integer}
                  required: [store, body, json]
                entries: {type: integer}
                pending: {type: integer}
                conflicts: {type: integer}
                failed: {type: integer}
                suspended: {type: boolean}
                stores:
                  type: array
                  items:
                    type: object
                    properties:
                      name: {type: string}
                      status: {type: string, enum: [attached, started, stopped]}
                    required: [name, status]
              required: [network, identity, mode, startedAt, hits, misses, sizes, limits, entries, pending, conflicts, failed, suspended, stores]
            StoreRequest:
              type: object
              properties:
                name: {type: string, pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$', not: {const: default}}
                paths:
                  description: Patterns of the targets that it has; the most specific one of all stores decides.
                  type: array
                  minItems: 1
                  items: {type: string, pattern: '^/'}
                type: {type: string, enum: [sqlite, memory], default: sqlite}
                location:
                  type: object
                  properties:
                    primary: {type: string, minLength: 1, description: A folder under one of storeRoots.}
                    mirror: {type: string, minLength: 1, description: 'The same, for a second location that other processes open too.'}
                  minProperties: 1
                  additionalProperties: false
                role: {type: string, enum: [app, extension], default: app, description: An extension knows the mirror alone.}
                deliver: {type: boolean, default: false, description: Whether an extension delivers queued writes while no app has the mirror open.}
                mirrorStrict: {type: boolean, default: false, description: 'Whether reads fail where one location can''t be read, instead of going on with the other.'}
                fileName: {type: string, pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$', description: By default holdfast.NAME.TYPE.}
                maxStoreSize:
                  description: In bytes, or with a unit such as 512MiB. By default that of the default store.
                  oneOf:
                  - {type: integer, minimum: 1, maximum: 9000000000000000000}
                  - {type: string, pattern: '^[1-9][0-9]{0,3}([KMGT]i?B|B)?$'}
                mode:
                  description: A cache mode of its own; by default it has the service's, and follows it.
                  oneOf:
                  - {type: string, enum: ['no', initialized, manualSaving, automatic]}
                  - {$ref: '#/components/schemas/Mode'}
                strategy: {$ref: '#/components/schemas/Strategy'}
                overwriteIncompatible: {type: boolean, default: false, description: Whether a file that is no store of this version is deleted.}
                started: {type: boolean, default: true}
              required: [name, paths]
              additionalProperties: false
            Strategy:
              description: |
                How soon copies are written. direct: on disk before the answer is whole. directIndependent: the same, and prepared hits stay
                until they expire. indirectNested: some seconds later. mixed: refreshes as direct, what clients read in the background.
              type: string
              enum: [direct, directIndependent, indirectNested, mixed]
            Store:
              type: object
              properties:
                name: {type: string}
                status: {type: string, enum: [attached, started, stopped]}
                paths:
                  type: array
                  items: {type: string}
                type: {type: string, enum: [sqlite, memory]}
                location:
                  type: object
                  properties:
                    primary: {type: string}
                    mirror: {type: string}
                role: {type: string, enum: [app, extension]}
                deliver: {type: boolean}
                mirrorStrict: {type: boolean}
                mirror:
                  description: How far the two locations are; with location.mirror only.
                  type: object
                  properties:
                    out: {type: array, items: {type: string, enum: [primary, mirror]}, description: Locations that are left out because they can't be used.}
                    behind: {type: boolean, description: Whether one location lacks something that the other has.}
                    delivers: {type: boolean, description: Whether this process delivers the store's queued writes.}
                    comparing: {type: boolean, description: Whether both locations are being compared.}
                    done: {type: integer, description: Entries that the last comparison has looked at.}
                    total: {type: integer, description: Entries that it has to look at.}
                    copied: {type: integer, description: What it has copied from one location to the other.}
                    failures: {type: integer, description: Failures of a location since the store was opened.}
                  required: [out, behind, delivers, comparing, done, total, copied, failures]
                fileName: {type: string}
                overwriteIncompatible: {type: boolean}
                mode: {type: string, enum: ['no', initialized, manualSaving, automatic], description: The mode of its own; absent where it has the service's.}
                strategy: {$ref: '#/components/schemas/Strategy'}
                maxStoreSize: {type: integer}
                sizes:
                  type: object
                  properties:
                    copies: {type: integer}
                    operations: {type: integer}
                  required: [copies, operations]
                entries: {type: integer}
                operations: {type: integer, description: Unfinished ones.}
              required: [name, status, paths, type, location, fileName, maxStoreSize, sizes, entries, operations]
            Stores:
              type: object
              properties:
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Store'}
              required: [items]
            Attached:
              oneOf:
              - {$ref: '#/components/schemas/Store'}
              - {$ref: '#/components/schemas/Stores'}
            Mode:
              type: object
              properties:
                'no': {type: object, additionalProperties: false}
                initialized:
                  type: object
                  properties:
                    data: {type: [string, 'null'], description: A snapshot to begin with. The mode in force does not show it again.}
                  additionalProperties: false
                manualSaving: {type: object, additionalProperties: false}
                automatic: {type: object, additionalProperties: false}
              minProperties: 1
              maxProperties: 1
              additionalProperties: false
            Network:
              type: object
              properties:
                state: {$ref: '#/components/schemas/NetworkState'}
                offline: {type: boolean}
              required: [state, offline]
            Offline:
              type: object
              properties:
                offline: {type: boolean}
              required: [offline]
              additionalProperties: false
            Suspended:
              type: object
              properties:
                suspended: {type: boolean}
              required: [suspended]
              additionalProperties: false
            Policy:
              type: object
              properties:
                fetchPolicy: {$ref: '#/components/schemas/FetchPolicy'}
                offlineReads: {$ref: '#/components/schemas/OfflineReads'}
                expirationPolicy: {$ref: '#/components/schemas/ExpirationPolicy'}
                expireAfter: {$ref: '#/components/schemas/ExpireAfter'}
                evictionPolicy: {$ref: '#/components/schemas/EvictionPolicy'}
                updatePolicy: {$ref: '#/components/schemas/UpdatePolicy'}
                conflictResolutionPolicy: {$ref: '#/components/schemas/ConflictResolutionPolicy'}
                noCache: {$ref: '#/components/schemas/Flag'}
                respectNoStore: {$ref: '#/components/schemas/Flag'}
                post: {$ref: '#/components/schemas/PostMeaning'}
                guard: {$ref: '#/components/schemas/Flag'}
                queueOnStatus: {$ref: '#/components/schemas/QueueOnStatus'}
              additionalProperties: false
            Policies:
              type: object
              properties:
                policies:
                  type: [array, 'null']
                  items: {$ref: '#/components/schemas/PolicyRule'}
                defaultPolicy:
                  anyOf:
                  - {$ref: '#/components/schemas/Policy'}
                  - {type: 'null'}
              additionalProperties: false
            Pin:
              type: object
              properties:
                priority: {$ref: '#/components/schemas/PinPriority'}
              required: [priority]
              additionalProperties: false
            SyncState:
              type: string
              enum: [synced, pending-create, pending-update, pending-patch, pending-delete, conflict, failed]
            EntryState:
              type: string
              description: As Sync-State; listed where the entry is known from a list alone.
              enum: [synced, listed, pending-create, pending-update, pending-patch, pending-delete, conflict, failed]
            Entry:
              type: object
              properties:
                target: {type: string}
                partition: {type: string}
                kind:
                  type: string
                  enum: [item, collection, file]
                state: {$ref: '#/components/schemas/EntryState'}
                variants: {type: integer}
                serverCopy:
                  type: object
                  properties:
                    status: {type: integer}
                    etag: {type: string}
                    lastModified: {type: string}
                    mediaType: {type: string}
                    storedAt: {type: string, format: date-time}
                    size: {type: integer}
                    expired: {type: boolean, description: By the policy in force for the entry.}
                    headers: {type: object, additionalProperties: {type: string}, description: 'Of the origin''s answer; secrets
                        as "•".'}
                    listed: {type: boolean}
                    path: {type: string, description: 'Of a file with the bytes, which never changes; with a full token alone, and
                        not in lists.'}
                  required: [status, storedAt, size, expired, headers, listed]
                localEdit:
                  type: object
                  properties:
                    syncState: {$ref: '#/components/schemas/SyncState'}
                    etag: {type: string}
                    mediaType: {type: string}
                    size: {type: integer}
                    deleted: {type: boolean}
                    baseETag: {type: string}
                    operation: {type: string}
                    path: {type: string, description: Likewise.}
                  required: [syncState, etag, deleted, operation]
                conflict: {type: string}
                hasOfflineUpdates: {type: boolean, description: A local edit is pending or stopped.}
                hasConflicts: {type: boolean}
                hasOfflineCommitError: {type: boolean, description: The origin refused a queued write for another reason than a conflict.}
                policy: {$ref: '#/components/schemas/Policy'}
                pin: {$ref: '#/components/schemas/PinPriority'}
                lastSync: {type: string, format: date-time}
              required: [target, partition, kind, state, variants, hasOfflineUpdates, hasConflicts, hasOfflineCommitError, policy]
            Entries:
              type: object
              properties:
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Entry'}
                next: {type: string, description: Pass as after; absent at the end.}
              required: [items]
            Evicted:
              type: object
              properties:
                evicted: {type: integer}
              required: [evicted]
            OperationState:
              type: string
              enum: [pending, sending, unknown, conflict, failed, delivered, cancelled, superseded]
            Operation:
              type: object
              properties:
                id: {type: string}
                kind:
                  type: string
                  enum: [edit, create, action, resolution]
                method: {type: string}
                target: {type: string}
                temporaryTarget: {type: string}
                newTarget: {type: string}
                partition: {type: string}
                state: {$ref: '#/components/schemas/OperationState'}
                reason: {type: string}
                idempotencyKey: {type: string}
                baseETag: {type: string}
                headers:
                  type: object
                  additionalProperties: {type: string}
                createdAt: {type: string, format: date-time}
                finishedAt: {type: string, format: date-time}
                attempts: {type: integer}
                nextAttemptAt: {type: string, format: date-time}
                lastAnswer: {$ref: '#/components/schemas/KeptAnswer'}
                bodySize: {type: integer}
                dependsOn:
                  type: array
                  items: {type: string}
                supersededBy: {type: string}
                links:
                  type: object
                  additionalProperties: {type: string}
              required: [id, kind, method, target, partition, state, idempotencyKey, headers, createdAt, attempts, bodySize, dependsOn,
                links]
            Operations:
              type: object
              properties:
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Operation'}
                next: {type: string, description: Pass as after; absent at the end.}
              required: [items]
            OperationEdit:
              type: object
              properties:
                headers:
                  type: object
                  additionalProperties:
                    type: [string, 'null']
                body: {}
              additionalProperties: false
            SyncResult:
              type: object
              properties:
                network: {$ref: '#/components/schemas/NetworkState'}
                offline: {type: boolean}
                suspended: {type: boolean}
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Operation'}
              required: [network, offline, suspended, items]
            Conflict:
              type: object
              properties:
                id: {type: string}
                kind:
                  type: string
                  enum: [edited, deleted-at-origin, exists-at-origin, refused, outcome-unknown]
                target: {type: string}
                partition: {type: string}
                method: {type: string}
                operation: {type: string}
                base: {$ref: '#/components/schemas/ConflictVersion'}
                client: {$ref: '#/components/schemas/ConflictVersion'}
                server: {$ref: '#/components/schemas/ConflictVersion'}
                serverIsLatest: {type: boolean}
                differences:
                  type: array
                  items: {type: string}
                  description: JSON pointers that differ between client and server.
                origin: {$ref: '#/components/schemas/KeptAnswer'}
                createdAt: {type: string, format: date-time}
                closedAt: {type: string, format: date-time}
                links:
                  type: object
                  additionalProperties: {type: string}
              required: [id, kind, target, partition, method, client, serverIsLatest, createdAt, links]
            Conflicts:
              type: object
              properties:
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Conflict'}
                next: {type: string, description: Pass as after; absent at the end.}
              required: [items]
            Resolution:
              type: object
              properties:
                keep:
                  type: string
                  enum: [client, server, merged]
                body: {}
                patch:
                  type: [object, array]
                later:
                  type: string
                  enum: [keep, drop]
                mediaType: {type: string}
              required: [keep]
              additionalProperties: false
            Partition:
              type: object
              properties:
                id: {type: string}
                entries: {type: integer}
                own: {type: boolean}
              required: [id, entries, own]
            Partitions:
              type: object
              properties:
                items:
                  type: array
                  items: {$ref: '#/components/schemas/Partition'}
                next: {type: string, description: Pass as after; absent at the end.}
              required: [items]
            Adopted:
              type: object
              properties:
                from: {type: string}
                to: {type: string}
              required: [from, to]
            Status:
              type: object
              properties:
                status:
                  type: string
                  enum: [live, ready, degraded, not-ready]
                store:
                  type: string
                  enum: [ok, damaged, one-sided, not-writable]
                network: {$ref: '#/components/schemas/NetworkState'}
              required: [status]
            Receipt:
              type: object
              properties:
                id: {type: string}
                state: {$ref: '#/components/schemas/OperationState'}
                method: {type: string}
                target: {type: string}
                idempotencyKey: {type: string}
                syncState: {type: string}
                createdAt: {type: string, format: date-time}
                links:
                  type: object
                  additionalProperties: {type: string}
              required: [id, state, method, target, idempotencyKey, createdAt, links]
            NetworkState:
              type: string
              enum: [online, degraded, auth, offline, offline-forced]
            Flag:
              description: Also taken as 0, 1 or a word.
              anyOf:
              - {type: boolean}
              - enum: [0, 1, 'true', 'false']
            FetchPolicy:
              type: string
              enum: [FETCH_FROM_CACHE, FETCH_FROM_SERVICE, FETCH_FROM_SERVICE_IF_ONLINE, FETCH_FROM_SERVICE_ON_CACHE_MISS, FETCH_FROM_SERVICE_ON_CACHE_MISS_OR_EXPIRY,
                FETCH_FROM_CACHE_SCHEDULE_REFRESH, FETCH_WITH_REFRESH, HTTP_CACHE]
            OfflineReads:
              type: string
              enum: [ALLOW_STALE, HONOUR_ORIGIN]
            ExpirationPolicy:
              type: string
              enum: [EXPIRE_ON_RESTART, EXPIRE_AFTER, NEVER_EXPIRE, HTTP_FRESHNESS]
            ExpireAfter: {type: integer, minimum: 0, description: Seconds.}
            EvictionPolicy:
              type: string
              enum: [EVICT_ON_EXPIRY_AT_STARTUP, MANUAL_EVICTION, EVICT_WHEN_FULL]
            UpdatePolicy:
              type: string
              enum: [UPDATE_IF_ONLINE, QUEUE_IF_OFFLINE]
            ConflictResolutionPolicy:
              type: string
              enum: [CLIENT_WINS, SERVER_WINS, PRESERVE_CONFLICT]
            PostMeaning:
              type: string
              enum: [create, action, never]
            QueueOnStatus:
              type: array
              items: {type: integer, minimum: 500, maximum: 599}
            PolicyRule:
              type: object
              properties:
                path: {type: string, minLength: 1}
                fetchPolicy: {$ref: '#/components/schemas/FetchPolicy'}
                offlineReads: {$ref: '#/components/schemas/OfflineReads'}
                expirationPolicy: {$ref: '#/components/schemas/ExpirationPolicy'}
                expireAfter: {$ref: '#/components/schemas/ExpireAfter'}
                evictionPolicy: {$ref: '#/components/schemas/EvictionPolicy'}
                updatePolicy: {$ref: '#/components/schemas/UpdatePolicy'}
                conflictResolutionPolicy: {$ref: '#/components/schemas/ConflictResolutionPolicy'}
                noCache: {$ref: '#/components/schemas/Flag'}
                respectNoStore: {$ref: '#/components/schemas/Flag'}
                post: {$ref: '#/components/schemas/PostMeaning'}
                guard: {$ref: '#/components/schemas/Flag'}
                queueOnStatus: {$ref: '#/components/schemas/QueueOnStatus'}
              required: [path]
              additionalProperties: false
            PinPriority:
              type: string
              enum: [normal, high]
            ConflictVersion:
              type: object
              properties:
                absent: {type: boolean}
                etag: {type: string}
                lastModified: {type: string}
                mediaType: {type: string}
                size: {type: integer}
                body: {description: 'The JSON, up to 64 KiB.'}
                link: {type: string}
              required: [absent]
            KeptAnswer:
              type: object
              properties:
                status: {type: integer}
                headers:
                  type: object
                  additionalProperties: {type: string}
                body: {type: string}
              required: [status, headers]

        """##
}
