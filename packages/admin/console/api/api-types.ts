// Written from the schemas of the API by packages/admin/test/console/api-types.test.ts. Do not edit.

/** The schemas of answers and bodies. */
export interface Schemas {
  AppliedTopology: { readonly cluster: string; readonly dryRun?: boolean | undefined; readonly created: readonly string[]; readonly existed: readonly string[]; readonly changed: readonly string[]; readonly left: readonly ({ readonly kind: string; readonly topic: string; readonly config: string | null; readonly from: string | null; readonly to: string | null; readonly problem: string | null })[]; readonly topics?: number | undefined }
  AuditEntry: { readonly id: string; readonly at: string; readonly endedAt: string | null; readonly by: string; readonly reason: string | null; readonly operation: string; readonly target: string; readonly request: unknown; readonly outcome: string; readonly detail: unknown; readonly scope: string; readonly via: string | null; readonly address: string | null }
  Binding: { readonly key: string; readonly name: string; readonly cluster: string; readonly topic: string; readonly topics: readonly string[]; readonly groupId: string; readonly state: string; readonly pausedBy: readonly string[]; readonly breaker: { readonly state: string; readonly failureRate: number | null; readonly slowRate: number | null; readonly calls: number | null; readonly nextProbeAt: string | null }; readonly instances: { readonly alive: number; readonly running: number; readonly paused: number; readonly other: number }; readonly lag: { readonly records: string | null; readonly seconds: number | null }; readonly retrying: string | null; readonly dead: { readonly depth: string | null }; readonly rates: { readonly processedPerSecond: number | null; readonly failedPerSecond: number | null; readonly deadPerMinute: number | null }; readonly asOf: string }
  BindingDetail: { readonly key: string; readonly name: string; readonly cluster: string; readonly topic: string; readonly topics: readonly string[]; readonly groupId: string; readonly state: string; readonly pausedBy: readonly string[]; readonly breaker: { readonly state: string; readonly failureRate: number | null; readonly slowRate: number | null; readonly calls: number | null; readonly nextProbeAt: string | null }; readonly instances: { readonly alive: number; readonly running: number; readonly paused: number; readonly other: number }; readonly lag: { readonly records: string | null; readonly seconds: number | null }; readonly retrying: string | null; readonly dead: { readonly depth: string | null }; readonly rates: { readonly processedPerSecond: number | null; readonly failedPerSecond: number | null; readonly deadPerMinute: number | null }; readonly asOf: string; readonly configuration: Readonly<Record<string, unknown>>; readonly containers: readonly unknown[]; readonly counters: { readonly processed: string | null; readonly failed: string | null; readonly dead: string | null; readonly skipped: Readonly<Record<string, string>>; readonly byException: Readonly<Record<string, string>> }; readonly findings: readonly string[] }
  Blocker: { readonly seq: string; readonly eventId: string; readonly aggregateType: string; readonly aggregateId: Schemas['Bytes'] | null; readonly status: string; readonly attempts: number; readonly lastError: Schemas['Bytes'] | null; readonly since: string; readonly behind: { readonly count: string; readonly exact: boolean } }
  Bytes: { readonly encoding: string; readonly text: string; readonly bytes: number; readonly truncated?: boolean | undefined } | { readonly hidden: boolean; readonly bytes: number }
  CommandAnswer: { readonly dryRun?: boolean | undefined; readonly scope: string; readonly outcome: string; readonly instances: readonly ({ readonly instance: string; readonly outcome: string; readonly state: string | null; readonly lastSeenAt?: string | undefined; readonly error?: Schemas['ErrorText'] | undefined })[]; readonly positions?: readonly Schemas['PositionReport'][] | undefined; readonly warnings?: readonly string[] | undefined }
  DeadEvent: { readonly seq: string; readonly eventId: string; readonly eventType: string | null; readonly aggregateType: string | null; readonly aggregateId: Schemas['Bytes'] | null; readonly attempts: number; readonly lastError: Schemas['Bytes'] | null; readonly failureType: string | null; readonly diedAt: string | null }
  DeadLetter: { readonly id: string; readonly binding: string | null; readonly consumerGroup: string | null; readonly state: string; readonly group: string; readonly deadAt: string | null; readonly reason: string; readonly exception: string; readonly message: Schemas['Bytes'] | null; readonly event: string | null; readonly eventId: string | null; readonly key: Schemas['Bytes'] | null; readonly totalAttempts: number; readonly replayCount: number; readonly traceId: string | null; readonly bytes: number; readonly original: { readonly topic: string; readonly partition: number; readonly offset: string | null; readonly at: string | null }; readonly operation: string | null }
  DeadLetterDetail: { readonly id: string; readonly binding: string | null; readonly consumerGroup: string | null; readonly state: string; readonly group: string; readonly deadAt: string | null; readonly reason: string; readonly exception: string; readonly message: Schemas['Bytes'] | null; readonly event: string | null; readonly eventId: string | null; readonly key: Schemas['Bytes'] | null; readonly totalAttempts: number; readonly replayCount: number; readonly traceId: string | null; readonly bytes: number; readonly original: { readonly topic: string; readonly partition: number; readonly offset: string | null; readonly at: string | null; readonly stillThere: boolean | null }; readonly operation: string | null; readonly error: { readonly class: string; readonly message: Schemas['Bytes'] | null; readonly stack: Schemas['Bytes'] | null }; readonly attempts: readonly ({ readonly tier: number; readonly attempts: number; readonly exception: string; readonly exhaustedAt: string | null })[]; readonly trace: { readonly traceId: string; readonly spanId: string; readonly url: string | null } | null; readonly value: Schemas['Bytes'] | null; readonly headers: readonly ({ readonly name: string; readonly class: string; readonly value: Schemas['Bytes'] | null })[]; readonly history: readonly ({ readonly id: string; readonly state: string; readonly deadAt: string | null; readonly replayCount: number })[]; readonly keyState: { readonly state: string; readonly waiting: number } | null; readonly actions: Readonly<Record<string, { readonly allowed: boolean; readonly because?: string | undefined }>> }
  DeadLetterPlace: { readonly id: string; readonly deadAt: string | null; readonly originalTopic: string; readonly originalPartition: number; readonly originalOffset: string; readonly lastExceptionClass: string }
  DeadLetterSource: { readonly mode: string; readonly upTo: Readonly<Record<string, Readonly<Record<string, string>>>>; readonly lagRecords: string; readonly leftOut: number; readonly unreadClusters: readonly string[] }
  DeadLetterStats: { readonly topics: readonly string[]; readonly count: number; readonly others: number; readonly notReplayed: string | null; readonly oldest: Schemas['DeadLetterPlace'] | null; readonly newest: Schemas['DeadLetterPlace'] | null; readonly byException: Readonly<Record<string, number>>; readonly complete: boolean }
  ErrorText: { readonly code: string | null; readonly message: string }
  EventSchema: { readonly catalog: string; readonly event: string; readonly topic: string; readonly aggregateType: string; readonly version: number; readonly versions: readonly number[]; readonly readsAllVersions: boolean; readonly wireFormat: string; readonly hasCodec: boolean; readonly undeclared: string; readonly description: string | null }
  FailureGroup: { readonly group: string; readonly state: string; readonly note: string | null; readonly by: string | null; readonly count: string; readonly firstAt: string | null; readonly lastAt: string | null; readonly binding: string | null; readonly event: string | null; readonly exception: string; readonly message: Schemas['Bytes'] | null; readonly frame: string | null; readonly replayed: string; readonly failedAgain: string; readonly sample: string; readonly spark: { readonly since: string; readonly bucketMs: number; readonly counts: readonly number[] } | null }
  Finding: { readonly status: string; readonly binding: string | null; readonly what: string; readonly hint: string; readonly since: string | null }
  Group: { readonly cluster: string; readonly groupId: string; readonly binding: string | null; readonly state: string; readonly type: string; readonly members: number | null }
  GroupDetail: { readonly cluster: string; readonly groupId: string; readonly binding: string | null; readonly state: string; readonly type: string; readonly members: number | null; readonly assignor: string; readonly memberList: readonly ({ readonly memberId: string; readonly instanceId: string | null; readonly clientId: string; readonly host: string; readonly assignment: readonly ({ readonly topic: string; readonly partition: number })[] | null })[] | null; readonly partitions: readonly ({ readonly topic: string; readonly partition: number; readonly committed: string | null; readonly end: string; readonly lag: string | null })[] }
  Health: { readonly status: string; readonly reasons: readonly string[]; readonly remarks: readonly string[]; readonly findings: readonly Schemas['Finding'][]; readonly scope: string; readonly thresholds: Readonly<Record<string, unknown>> | null }
  Instance: { readonly instance: string; readonly incarnation: string; readonly version: string | null; readonly alive: boolean; readonly seenAt: string; readonly health: { readonly status: string; readonly reasons: readonly string[] } | null; readonly bindings: readonly ({ readonly cluster: string; readonly binding: string; readonly state: string; readonly pausedBy: readonly string[]; readonly partitions: number | null; readonly lag: string | null; readonly breaker: string | null })[] }
  LetterFilterInput: { readonly topic?: string | undefined; readonly group?: string | undefined; readonly event?: string | undefined; readonly exception?: string | undefined; readonly reason?: "RETRIES_EXHAUSTED" | "NON_RETRYABLE" | "MANUAL" | undefined; readonly key?: string | undefined; readonly since?: string | undefined; readonly until?: string | undefined; readonly minAttempts?: number | undefined; readonly replayCount?: number | undefined; readonly traceId?: string | undefined; readonly q?: string | undefined }
  LossAuditRow: { readonly topic: string; readonly partition: number; readonly binding: string; readonly groupId: string; readonly since: string; readonly committed: string; readonly settledAbove: string; readonly ok: string; readonly retried: string; readonly dead: string; readonly skipped: string; readonly holes: string; readonly waiting: string; readonly waitedOk: string; readonly waitedDead: string; readonly missing: string; readonly problem: string | null; readonly moved: { readonly times: number; readonly at: string | null; readonly from: string | null; readonly to: string; readonly by: string } | null }
  Me: { readonly by: string; readonly roles: readonly string[]; readonly permissions: Readonly<Record<string, unknown>>; readonly scope: string; readonly editing: boolean; readonly durable: boolean; readonly deadLetters: string; readonly auditReadable: boolean; readonly requireReason: string; readonly hasIdentity: boolean; readonly projections?: boolean | undefined }
  Operation: { readonly id: string; readonly type: string; readonly state: string; readonly by: string; readonly reason: string | null; readonly binding: string | null; readonly outbox: string | null; readonly projection: string | null; readonly createdAt: string; readonly startedAt: string | null; readonly endedAt: string | null; readonly expiresAt: string | null; readonly durable: boolean; readonly runner: string | null; readonly leaseUntil: string | null; readonly takeovers: number; readonly pausedBy: string | null; readonly wish: string | null; readonly rate: number; readonly request: Readonly<Record<string, unknown>>; readonly plan: Readonly<Record<string, unknown>>; readonly progress: { readonly scanned: string; readonly sent: string; readonly refused: Readonly<Record<string, string>>; readonly remaining: string | null; readonly etaMs: number | null }; readonly outcomes: { readonly succeeded: string; readonly retrying: string; readonly failedAgain: string; readonly skipped: string; readonly unknown: string; readonly mayBeRepeated: string }; readonly trouble: Schemas['ErrorText'] | null }
  Outbox: { readonly outbox: string; readonly mode: string | null; readonly backlog: { readonly pending: string; readonly retrying: string; readonly more: boolean; readonly oldestAgeMs: number }; readonly dead: string; readonly rates: { readonly successPerSecond: number | null; readonly failurePerSecond: number | null }; readonly nodes: readonly ({ readonly owner: string; readonly shards: number })[]; readonly health: { readonly status: string; readonly reasons: readonly ({ readonly status: string; readonly since: string; readonly what: string; readonly hint: string; readonly waiting: number | null })[] } | null }
  OutboxDetail: { readonly outbox: string; readonly mode: string | null; readonly backlog: { readonly pending: string; readonly retrying: string; readonly more: boolean; readonly oldestAgeMs: number }; readonly dead: string; readonly rates: { readonly successPerSecond: number | null; readonly failurePerSecond: number | null }; readonly nodes: readonly ({ readonly owner: string; readonly shards: number })[]; readonly health: { readonly status: string; readonly reasons: readonly ({ readonly status: string; readonly since: string; readonly what: string; readonly hint: string; readonly waiting: number | null })[] } | null; readonly shards: readonly ({ readonly shard: number; readonly owner: string })[] }
  OutboxEvent: { readonly seq: string; readonly eventId: string; readonly eventType: string | null; readonly aggregateType: string | null; readonly aggregateId: Schemas['Bytes'] | null; readonly attempts: number; readonly lastError: Schemas['Bytes'] | null; readonly failureType: string | null; readonly diedAt: string | null; readonly status: string; readonly createdAt: string; readonly availableAt: string; readonly occurredAt: string | null; readonly tenantId: string | null; readonly payload: Schemas['Bytes'] | null; readonly headers: readonly ({ readonly name: string; readonly value: Schemas['Bytes'] | null })[] }
  Partition: { readonly topic: string; readonly partition: number; readonly kind: string; readonly tier: number; readonly instance: string | null; readonly owner: { readonly clientId: string; readonly instanceId: string | null; readonly host: string } | null; readonly member: number | null; readonly epoch: number | null; readonly committed: string | null; readonly watermark: string | null; readonly end: string | null; readonly lag: string | null; readonly lagSeconds: number | null; readonly buffered: number | null; readonly running: number | null; readonly oldestHandlerMs: number | null; readonly unconfirmed: number | null; readonly waiting: number | null; readonly pausedBy: readonly string[]; readonly trouble: string | null }
  PositionReport: { readonly topic: string; readonly partition: number; readonly from: string | null; readonly to: string; readonly skipped: string; readonly repeated: string }
  Probe: { readonly status: string; readonly reasons: readonly string[] }
  Problem: { readonly type: string; readonly title: string; readonly status: number; readonly code: string; readonly detail: string; readonly impact?: string | undefined; readonly hint?: string | undefined; readonly instance: string; readonly requestId: string; readonly violations?: readonly ({ readonly path?: string | undefined; readonly message?: string | undefined })[] | undefined }
  Projection: { readonly projection: string; readonly revision: number; readonly live: { readonly build: number; readonly revision: number; readonly state: string; readonly reason: string | null; readonly changedAt: string | null } | null; readonly rebuild: { readonly build: number; readonly revision: number; readonly state: string; readonly reason: string | null; readonly changedAt: string | null } | null; readonly quarantinedKeys: string; readonly lagRecords: string | null; readonly canRebuild: boolean }
  ProjectionDetail: { readonly projection: string; readonly revision: number; readonly live: { readonly build: number; readonly revision: number; readonly state: string; readonly reason: string | null; readonly changedAt: string | null } | null; readonly rebuild: { readonly build: number; readonly revision: number; readonly state: string; readonly reason: string | null; readonly changedAt: string | null } | null; readonly quarantinedKeys: string; readonly lagRecords: string | null; readonly canRebuild: boolean; readonly builds: readonly ({ readonly build: number; readonly revision: number; readonly state: string; readonly reason: string | null; readonly changedAt: string | null })[]; readonly positions: readonly ({ readonly build: number; readonly topic: string; readonly partition: number; readonly next: string })[] }
  PurgeReport: { readonly operation: string | null; readonly state?: string | undefined; readonly complete?: boolean | undefined; readonly dryRun?: boolean | undefined; readonly purged?: string | undefined; readonly notReplayed?: string | undefined; readonly byGroup?: readonly ({ readonly consumerGroup: string | null; readonly count: number })[] | undefined }
  QuarantinedKey: { readonly key: Schemas['Bytes'] | null; readonly reason: string; readonly expectedVersion: number; readonly foundVersion: number; readonly lastVersion: number; readonly since: string }
  ReplayReport: { readonly operation: string | null; readonly state?: string | undefined; readonly complete?: boolean | undefined; readonly dryRun?: boolean | undefined; readonly replayed?: number | undefined; readonly skipped?: Readonly<Record<string, number>> | undefined; readonly remaining?: string | undefined; readonly available?: string | undefined }
  Stage: { readonly kind: string; readonly tier: number | null; readonly topic: string | null; readonly delayMs: number | null; readonly depth: string | null; readonly nextDueAt: string | null; readonly processedPerSecond: number | null; readonly failedPerSecond: number | null }
  Topic: { readonly cluster: string; readonly topic: string; readonly uses: readonly ({ readonly binding: string; readonly role: string })[]; readonly replication: number; readonly underReplicated: number; readonly partitions: readonly ({ readonly partition: number; readonly leader: number | null; readonly replicas: number; readonly inSync: number; readonly start: string | null; readonly end: string | null })[]; readonly settings: Readonly<Record<string, string | null>>; readonly remarks: readonly string[]; readonly trouble: string | null }
  TopologyPlan: { readonly cluster: string; readonly steps: readonly ({ readonly kind: string; readonly topic: string; readonly config: string | null; readonly from: string | null; readonly to: string | null; readonly problem: string | null })[]; readonly warnings: readonly ({ readonly topic: string; readonly problem: string })[] }
}

/** The request and the answer of each route. */
export interface Routes {
  listBindings: {
    params: {}
    query: { state?: "CREATED" | "RUNNING" | "PAUSED" | "STOPPED" | "DESTROYED" | undefined; cluster?: string | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['Binding'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined }
  }
  registerBinding: {
    params: {}
    query: {}
    body: Readonly<Record<string, unknown>>
    answer: Schemas['CommandAnswer']
  }
  getBinding: {
    params: { name: string }
    query: {}
    body: undefined
    answer: Schemas['BindingDetail']
  }
  destroyBinding: {
    params: { name: string }
    query: { deadlineMs?: number | undefined; dryRun?: boolean | undefined }
    body: undefined
    answer: Schemas['CommandAnswer']
  }
  getBindingConfiguration: {
    params: { name: string }
    query: {}
    body: undefined
    answer: { readonly key: string; readonly configuration: Readonly<Record<string, unknown>> }
  }
  getLossAudit: {
    params: { name: string }
    query: {}
    body: undefined
    answer: { readonly key: string; readonly items: readonly Schemas['LossAuditRow'][] }
  }
  listPartitions: {
    params: { name: string }
    query: {}
    body: undefined
    answer: { readonly items: readonly Schemas['Partition'][]; readonly scope: string }
  }
  getPipeline: {
    params: { name: string }
    query: {}
    body: undefined
    answer: { readonly key: string; readonly stages: readonly Schemas['Stage'][]; readonly waiting: number; readonly scope: string }
  }
  getSeries: {
    params: { name: string }
    query: { metric?: "eventbus.records.processed" | "eventbus.records.failed" | "eventbus.records.dlq" | "eventbus.records.skipped" | "eventbus.consumer.lag" | "eventbus.consumer.lag.seconds" | "eventbus.retry.tier.depth" | "eventbus.dlt.depth" | "eventbus.circuit.state" | undefined; window?: string | undefined }
    body: undefined
    answer: { readonly metric: string; readonly labels: Readonly<Record<string, string>>; readonly points: readonly ({ readonly at: string; readonly value: number })[] }
  }
  getTotalSeries: {
    params: {}
    query: { metric?: "eventbus.records.processed" | "eventbus.records.failed" | "eventbus.records.dlq" | "eventbus.records.skipped" | "eventbus.consumer.lag" | "eventbus.consumer.lag.seconds" | "eventbus.retry.tier.depth" | "eventbus.dlt.depth" | "eventbus.circuit.state" | undefined; window?: string | undefined }
    body: undefined
    answer: { readonly metric: string; readonly points: readonly ({ readonly at: string; readonly value: number })[] }
  }
  startBinding: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  stopBinding: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly deadlineMs?: number | undefined; readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  pauseBinding: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  resumeBinding: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  acknowledgeLosses: {
    params: { name: string }
    query: {}
    body: { readonly topic?: string | undefined; readonly partition?: number | undefined; readonly reason?: string | undefined }
    answer: { readonly acknowledged: readonly unknown[] }
  }
  seekPosition: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly to: "EARLIEST" | "LATEST" | { readonly offset: string } | { readonly timestampMs: string }; readonly partitions?: readonly number[] | undefined; readonly tier?: number | undefined; readonly topic?: string | undefined; readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  skipRecords: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly partition: number; readonly offsets: readonly string[]; readonly tier?: number | undefined; readonly topic?: string | undefined; readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  resetPositions: {
    params: { name: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly to: "EARLIEST" | "LATEST" | { readonly timestampMs: string }; readonly tier?: number | undefined; readonly topic?: string | undefined; readonly reason?: string | undefined }
    answer: Schemas['CommandAnswer']
  }
  replayDlt: {
    params: { name: string }
    query: { count?: number | undefined; from?: string | undefined; to?: string | undefined; target?: "ORIGINAL" | "BINDING" | undefined; dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['ReplayReport']
  }
  replayToTier: {
    params: { name: string }
    query: { tier?: number | undefined; count?: number | undefined; from?: string | undefined; to?: string | undefined; dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['ReplayReport']
  }
  releaseDlt: {
    params: { name: string }
    query: { count?: number | undefined; from?: string | undefined; to?: string | undefined; dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['ReplayReport']
  }
  getDltStats: {
    params: { name: string }
    query: {}
    body: undefined
    answer: Schemas['DeadLetterStats']
  }
  purgeDlt: {
    params: { name: string }
    query: { olderThan?: string | undefined; includeOtherGroups?: boolean | undefined; dryRun?: boolean | undefined }
    body: undefined
    answer: Schemas['PurgeReport']
  }
  createOperation: {
    params: {}
    query: { dryRun?: boolean | undefined }
    body: { readonly type: "REPLAY" | "REPLAY_TO_TIER" | "RELEASE" | "PURGE" | "OUTBOX_REPLAY" | "OUTBOX_PURGE" | "PROJECTION_REBUILD" | "INDEX_REBUILD"; readonly binding?: string | undefined; readonly outbox?: string | undefined; readonly projection?: string | undefined; readonly filter?: Schemas['LetterFilterInput'] | undefined; readonly ids?: readonly string[] | undefined; readonly target?: "ORIGINAL" | "BINDING" | undefined; readonly tier?: number | undefined; readonly maxReplays?: number | undefined; readonly limit?: number | undefined; readonly rate?: number | undefined; readonly canary?: { readonly count: number; readonly settleMs?: number | undefined; readonly then?: "PAUSE" | "CONTINUE" | undefined } | undefined; readonly abortWhen?: false | { readonly failureRate: number; readonly minimum: number } | undefined; readonly olderThan?: string | undefined; readonly includeOtherGroups?: boolean | undefined; readonly eventType?: string | undefined; readonly aggregateType?: string | undefined; readonly confirm?: string | undefined; readonly reason?: string | undefined }
    answer: Schemas['Operation']
  }
  listOperations: {
    params: {}
    query: { state?: readonly ("PLANNED" | "RUNNING" | "PAUSED" | "DONE" | "FAILED" | "CANCELLED")[] | undefined; type?: readonly ("REPLAY" | "REPLAY_TO_TIER" | "RELEASE" | "PURGE" | "EDIT_REPLAY" | "OUTBOX_REPLAY" | "OUTBOX_PURGE" | "PROJECTION_REBUILD" | "INDEX_REBUILD")[] | undefined; by?: string | undefined; binding?: string | undefined; outbox?: string | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['Operation'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined }
  }
  getOperation: {
    params: { id: string }
    query: {}
    body: undefined
    answer: Schemas['Operation']
  }
  changeOperation: {
    params: { id: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly rate: number; readonly reason?: string | undefined }
    answer: Schemas['Operation']
  }
  listOperationItems: {
    params: { id: string }
    query: { outcome?: "REFUSED" | "FAILED_AGAIN" | "MAY_REPEAT" | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly ({ readonly id: string; readonly outcome: string; readonly detail: string })[]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined }
  }
  startOperation: {
    params: { id: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['Operation']
  }
  pauseOperation: {
    params: { id: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['Operation']
  }
  resumeOperation: {
    params: { id: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['Operation']
  }
  cancelOperation: {
    params: { id: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: Schemas['Operation']
  }
  listOutboxes: {
    params: {}
    query: {}
    body: undefined
    answer: { readonly items: readonly Schemas['Outbox'][]; readonly next: string | null }
  }
  getOutbox: {
    params: { outbox: string }
    query: {}
    body: undefined
    answer: Schemas['OutboxDetail']
  }
  listDeadEvents: {
    params: { outbox: string }
    query: { type?: string | undefined; aggregateType?: string | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['DeadEvent'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined }
  }
  getOutboxEvent: {
    params: { outbox: string; eventId: string }
    query: {}
    body: undefined
    answer: Schemas['OutboxEvent']
  }
  listBlockers: {
    params: { outbox: string }
    query: { limit?: number | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['Blocker'][]; readonly next: string | null }
  }
  replayDeadEvent: {
    params: { outbox: string; eventId: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly reason?: string | undefined }
    answer: { readonly eventId: string; readonly replayed: boolean; readonly dryRun?: boolean | undefined; readonly status?: string | undefined }
  }
  listProjections: {
    params: {}
    query: {}
    body: undefined
    answer: { readonly items: readonly Schemas['Projection'][]; readonly next: string | null }
  }
  getProjection: {
    params: { name: string }
    query: {}
    body: undefined
    answer: Schemas['ProjectionDetail']
  }
  listQuarantine: {
    params: { name: string }
    query: { limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['QuarantinedKey'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined }
  }
  planTopology: {
    params: {}
    query: { cluster?: string | undefined }
    body: undefined
    answer: Schemas['TopologyPlan']
  }
  applyTopology: {
    params: {}
    query: { cluster?: string | undefined; dryRun?: boolean | undefined }
    body: { readonly alterConfigs?: boolean | undefined; readonly reason?: string | undefined }
    answer: Schemas['AppliedTopology']
  }
  listTopics: {
    params: {}
    query: { role?: "SOURCE" | "TIER" | "DLT" | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['Topic'][]; readonly next: string | null }
  }
  listGroups: {
    params: {}
    query: {}
    body: undefined
    answer: { readonly items: readonly Schemas['Group'][]; readonly next: string | null }
  }
  getGroup: {
    params: { groupId: string }
    query: { cluster?: string | undefined }
    body: undefined
    answer: Schemas['GroupDetail']
  }
  listSchemas: {
    params: {}
    query: {}
    body: undefined
    answer: { readonly items: readonly Schemas['EventSchema'][]; readonly next: string | null }
  }
  listAuditEntries: {
    params: {}
    query: { by?: string | undefined; operation?: string | undefined; target?: string | undefined; binding?: string | undefined; outcome?: readonly ("ASKED" | "REFUSED" | "DONE" | "FAILED")[] | undefined; since?: string | undefined; until?: string | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['AuditEntry'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined }
  }
  listFailureGroups: {
    params: {}
    query: { binding?: string | undefined; cluster?: string | undefined; topic?: string | undefined; group?: string | undefined; event?: string | undefined; exception?: string | undefined; reason?: "RETRIES_EXHAUSTED" | "NON_RETRYABLE" | "MANUAL" | undefined; state?: readonly ("OPEN" | "REPLAYED" | "SUCCEEDED" | "FAILED_AGAIN" | "RESOLVED" | "IGNORED" | "RELEASED" | "GONE")[] | undefined; key?: string | undefined; since?: string | undefined; until?: string | undefined; minAttempts?: number | undefined; replayCount?: number | undefined; traceId?: string | undefined; q?: string | undefined; sort?: "count" | "last" | "first" | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['FailureGroup'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined; readonly filter: { readonly since: string | null; readonly until: string | null }; readonly source: Schemas['DeadLetterSource'] }
  }
  getFailureGroup: {
    params: { group: string }
    query: {}
    body: undefined
    answer: Schemas['FailureGroup']
  }
  triageFailureGroup: {
    params: { group: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly state?: "OPEN" | "RESOLVED" | "IGNORED" | undefined; readonly note?: string | null | undefined; readonly reason?: string | undefined }
    answer: Schemas['FailureGroup']
  }
  listDeadLetters: {
    params: {}
    query: { binding?: string | undefined; cluster?: string | undefined; topic?: string | undefined; group?: string | undefined; event?: string | undefined; exception?: string | undefined; reason?: "RETRIES_EXHAUSTED" | "NON_RETRYABLE" | "MANUAL" | undefined; state?: readonly ("OPEN" | "REPLAYED" | "SUCCEEDED" | "FAILED_AGAIN" | "RESOLVED" | "IGNORED" | "RELEASED" | "GONE")[] | undefined; key?: string | undefined; since?: string | undefined; until?: string | undefined; minAttempts?: number | undefined; replayCount?: number | undefined; traceId?: string | undefined; q?: string | undefined; limit?: number | undefined; cursor?: string | undefined }
    body: undefined
    answer: { readonly items: readonly Schemas['DeadLetter'][]; readonly next: string | null; readonly total?: { readonly count: string; readonly exact: boolean } | undefined; readonly filter: { readonly since: string | null; readonly until: string | null }; readonly source: Schemas['DeadLetterSource'] }
  }
  countDeadLetters: {
    params: {}
    query: { binding?: string | undefined; cluster?: string | undefined; topic?: string | undefined; group?: string | undefined; event?: string | undefined; exception?: string | undefined; reason?: "RETRIES_EXHAUSTED" | "NON_RETRYABLE" | "MANUAL" | undefined; state?: readonly ("OPEN" | "REPLAYED" | "SUCCEEDED" | "FAILED_AGAIN" | "RESOLVED" | "IGNORED" | "RELEASED" | "GONE")[] | undefined; key?: string | undefined; since?: string | undefined; until?: string | undefined; minAttempts?: number | undefined; replayCount?: number | undefined; traceId?: string | undefined; q?: string | undefined; by?: readonly ("event" | "exception" | "binding" | "reason" | "state")[] | undefined }
    body: undefined
    answer: { readonly facets: Readonly<Record<string, { readonly values: readonly ({ readonly value: string | null; readonly count: string })[]; readonly other: string }>>; readonly filter: { readonly since: string | null; readonly until: string | null }; readonly source: Schemas['DeadLetterSource'] }
  }
  getDeadLetter: {
    params: { id: string }
    query: {}
    body: undefined
    answer: Schemas['DeadLetterDetail']
  }
  downloadDeadLetter: {
    params: { id: string }
    query: { part?: "value" | "key" | "headers" | undefined }
    body: undefined
    answer: string
  }
  scanDeadLetters: {
    params: {}
    query: { binding?: string | undefined; cluster?: string | undefined; topic?: string | undefined; group?: string | undefined; event?: string | undefined; exception?: string | undefined; reason?: "RETRIES_EXHAUSTED" | "NON_RETRYABLE" | "MANUAL" | undefined; state?: readonly ("OPEN" | "REPLAYED" | "SUCCEEDED" | "FAILED_AGAIN" | "RESOLVED" | "IGNORED" | "RELEASED" | "GONE")[] | undefined; key?: string | undefined; since?: string | undefined; until?: string | undefined; minAttempts?: number | undefined; replayCount?: number | undefined; traceId?: string | undefined; q?: string | undefined }
    body: undefined
    answer: string
  }
  editDeadLetter: {
    params: { id: string }
    query: { dryRun?: boolean | undefined }
    body: { readonly value?: string | null | undefined; readonly headers?: { readonly set?: Readonly<Record<string, string>> | undefined; readonly remove?: readonly string[] | undefined } | undefined; readonly target?: "ORIGINAL" | "BINDING" | undefined; readonly newEventId?: boolean | undefined; readonly force?: boolean | undefined; readonly reason?: string | undefined }
    answer: { readonly dryRun?: boolean | undefined; readonly operation?: string | undefined; readonly state?: string | undefined; readonly replayed?: number | undefined; readonly schema?: { readonly verdict: string; readonly event: string | null; readonly problem: string | null } | undefined; readonly diff?: readonly ({ readonly path: string; readonly from: string | null; readonly to: string | null })[] | undefined; readonly key?: string | undefined }
  }
  getLiveness: {
    params: {}
    query: {}
    body: undefined
    answer: Schemas['Probe']
  }
  getReadiness: {
    params: {}
    query: {}
    body: undefined
    answer: Schemas['Probe']
  }
  getStartup: {
    params: {}
    query: {}
    body: undefined
    answer: Schemas['Probe']
  }
  getMetrics: {
    params: {}
    query: {}
    body: undefined
    answer: string
  }
  getHealth: {
    params: {}
    query: {}
    body: undefined
    answer: Schemas['Health']
  }
  getMe: {
    params: {}
    query: {}
    body: undefined
    answer: Schemas['Me']
  }
  listInstances: {
    params: {}
    query: {}
    body: undefined
    answer: { readonly items: readonly Schemas['Instance'][]; readonly scope: string }
  }
  getStream: {
    params: {}
    query: { topics?: readonly ("overview" | "health" | "bindings" | "operations" | "groups" | "audit")[] | undefined }
    body: undefined
    answer: string
  }
  getOpenApi: {
    params: {}
    query: {}
    body: undefined
    answer: unknown
  }
}

/** The method and path of each route, and the permission that it needs. */
export const routes: Readonly<Record<keyof Routes, readonly [method: string, path: string, permission: string | null]>> = {
  listBindings: ['GET', '/eventbus/bindings', 'bindings:read'],
  registerBinding: ['POST', '/eventbus/bindings', 'bindings:register'],
  getBinding: ['GET', '/eventbus/bindings/{name}', 'bindings:read'],
  destroyBinding: ['DELETE', '/eventbus/bindings/{name}', 'bindings:register'],
  getBindingConfiguration: ['GET', '/eventbus/bindings/{name}/configuration', 'bindings:read'],
  getLossAudit: ['GET', '/eventbus/bindings/{name}/audit', 'bindings:read'],
  listPartitions: ['GET', '/eventbus/bindings/{name}/partitions', 'bindings:read'],
  getPipeline: ['GET', '/eventbus/bindings/{name}/pipeline', 'bindings:read'],
  getSeries: ['GET', '/eventbus/bindings/{name}/series', 'bindings:read'],
  getTotalSeries: ['GET', '/eventbus/series', 'bindings:read'],
  startBinding: ['POST', '/eventbus/bindings/{name}/start', 'bindings:operate'],
  stopBinding: ['POST', '/eventbus/bindings/{name}/stop', 'bindings:operate'],
  pauseBinding: ['POST', '/eventbus/bindings/{name}/pause', 'bindings:operate'],
  resumeBinding: ['POST', '/eventbus/bindings/{name}/resume', 'bindings:operate'],
  acknowledgeLosses: ['POST', '/eventbus/bindings/{name}/losses/acknowledge', 'losses:acknowledge'],
  seekPosition: ['POST', '/eventbus/bindings/{name}/positions/seek', 'bindings:position'],
  skipRecords: ['POST', '/eventbus/bindings/{name}/positions/skip', 'bindings:position'],
  resetPositions: ['POST', '/eventbus/bindings/{name}/positions/reset', 'bindings:position'],
  replayDlt: ['POST', '/eventbus/bindings/{name}/dlt/replay', 'dlt:replay'],
  replayToTier: ['POST', '/eventbus/bindings/{name}/dlt/replay-to-tier', 'dlt:replay'],
  releaseDlt: ['POST', '/eventbus/bindings/{name}/dlt/release', 'dlt:release'],
  getDltStats: ['GET', '/eventbus/bindings/{name}/dlt/stats', 'dlt:read'],
  purgeDlt: ['DELETE', '/eventbus/bindings/{name}/dlt', 'dlt:purge'],
  createOperation: ['POST', '/eventbus/operations', null],
  listOperations: ['GET', '/eventbus/operations', 'operations:read'],
  getOperation: ['GET', '/eventbus/operations/{id}', 'operations:read'],
  changeOperation: ['PATCH', '/eventbus/operations/{id}', null],
  listOperationItems: ['GET', '/eventbus/operations/{id}/items', 'operations:read'],
  startOperation: ['POST', '/eventbus/operations/{id}/start', null],
  pauseOperation: ['POST', '/eventbus/operations/{id}/pause', null],
  resumeOperation: ['POST', '/eventbus/operations/{id}/resume', null],
  cancelOperation: ['POST', '/eventbus/operations/{id}/cancel', null],
  listOutboxes: ['GET', '/eventbus/outboxes', 'outbox:read'],
  getOutbox: ['GET', '/eventbus/outboxes/{outbox}', 'outbox:read'],
  listDeadEvents: ['GET', '/eventbus/outboxes/{outbox}/dead', 'outbox:read'],
  getOutboxEvent: ['GET', '/eventbus/outboxes/{outbox}/events/{eventId}', 'outbox:read'],
  listBlockers: ['GET', '/eventbus/outboxes/{outbox}/blockers', 'outbox:read'],
  replayDeadEvent: ['POST', '/eventbus/outboxes/{outbox}/dead/{eventId}/replay', 'outbox:replay'],
  listProjections: ['GET', '/eventbus/projections', 'projections:read'],
  getProjection: ['GET', '/eventbus/projections/{name}', 'projections:read'],
  listQuarantine: ['GET', '/eventbus/projections/{name}/quarantine', 'projections:read'],
  planTopology: ['GET', '/eventbus/topics/plan', 'topics:read'],
  applyTopology: ['POST', '/eventbus/topics/apply', 'topics:apply'],
  listTopics: ['GET', '/eventbus/topics', 'topics:read'],
  listGroups: ['GET', '/eventbus/groups', 'groups:read'],
  getGroup: ['GET', '/eventbus/groups/{groupId}', 'groups:read'],
  listSchemas: ['GET', '/eventbus/schemas', 'topics:read'],
  listAuditEntries: ['GET', '/eventbus/audit', 'audit:read'],
  listFailureGroups: ['GET', '/eventbus/dead-letters/groups', 'dlt:read'],
  getFailureGroup: ['GET', '/eventbus/dead-letters/groups/{group}', 'dlt:read'],
  triageFailureGroup: ['PATCH', '/eventbus/dead-letters/groups/{group}', 'dlt:triage'],
  listDeadLetters: ['GET', '/eventbus/dead-letters', 'dlt:read'],
  countDeadLetters: ['GET', '/eventbus/dead-letters/facets', 'dlt:read'],
  getDeadLetter: ['GET', '/eventbus/dead-letters/{id}', 'dlt:read'],
  downloadDeadLetter: ['GET', '/eventbus/dead-letters/{id}/raw', 'payloads:read'],
  scanDeadLetters: ['GET', '/eventbus/dead-letters/scan', 'dlt:read'],
  editDeadLetter: ['POST', '/eventbus/dead-letters/{id}/edit', 'dlt:edit'],
  getLiveness: ['GET', '/livez', null],
  getReadiness: ['GET', '/readyz', null],
  getStartup: ['GET', '/startupz', null],
  getMetrics: ['GET', '/metrics', 'bindings:read'],
  getHealth: ['GET', '/eventbus/health', 'bindings:read'],
  getMe: ['GET', '/eventbus/me', null],
  listInstances: ['GET', '/eventbus/instances', 'bindings:read'],
  getStream: ['GET', '/eventbus/stream', null],
  getOpenApi: ['GET', '/openapi.json', null],
}
