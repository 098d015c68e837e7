import type { Connector, StoredDeadLetter, ThresholdMonitor } from '@waybill/connector'
import type { AuditLog, EventCatalog, MetricsStore, Runtime, Schemas } from '@waybill/core'
import type { AuditReader, DeadLetterIndex, OperationStore } from '@waybill/core/internal'
import { runtimeRule } from '@waybill/core/internal'
import {
  boolean,
  durationMs,
  func,
  hasMethods,
  instance,
  list,
  mapOf,
  nested,
  oneOf,
  optional,
  orFalse,
  resolveOptions,
  text,
} from '@waybill/core/option'
import type { KafkaClient, Topology } from '@waybill/kafka'
import type { AdminAccess, AdminIdentity } from '../access/access.ts'
import type { IndexingRule } from '../dead-letters/indexed-letter.ts'
import type { AdminRequest } from '../http/admin-request.ts'
import type { AdminOutbox } from './admin-outbox.ts'
import type { AdminProjection } from './admin-projection.ts'

/** Parts of payloads that are never shown, whatever the permissions of the reader. */
export interface PayloadPolicy {
  /** Paths of JSON values to hide: `$.card.number`, `$.items[*].iban`, `$..email`. @defaultValue none */
  readonly mask?: readonly string[]
  /** Headers whose values are hidden. @defaultValue none */
  readonly maskHeaders?: readonly string[]
  /** A value that is not JSON, where a mask is given. @defaultValue 'HIDE' */
  readonly notJson?: 'SHOW' | 'HIDE'
}

/** The parts of dead letters that an index holds, and how it groups them. */
export interface IndexingOptions {
  /** The first 256 bytes of keys, as text. @defaultValue true */
  readonly keys?: boolean
  /** Messages of errors. @defaultValue true */
  readonly messages?: boolean
  /**
   * Returns the failure group of a dead letter, at most 64 characters.
   * @defaultValue by error class, message without ids, first own frame and event type
   */
  readonly fingerprint?: (letter: StoredDeadLetter) => string
  /** The version of `fingerprint`: with another one the index is filled again. @defaultValue '1' */
  readonly fingerprintVersion?: string
}

/** Options of {@link createAdmin}. */
export interface AdminOptions {
  /** @defaultValue none: no bindings and no dead letters */
  readonly connector?: Connector
  /** The clusters of the connector, for topics, groups, and the plan of a moved position. @defaultValue none */
  readonly clusters?: Readonly<Record<string, KafkaClient>>
  /** Outboxes by name. @defaultValue none */
  readonly outboxes?: Readonly<Record<string, AdminOutbox>>
  /** Projections by name. @defaultValue none */
  readonly projections?: Readonly<Record<string, AdminProjection>>
  /** The declared topics of each cluster: `defineTopology`. @defaultValue none: topics cannot be compared */
  readonly topologies?: Readonly<Record<string, Topology>>
  /** Catalogs of events by a name of your own; edited dead letters are checked with their schemas. @defaultValue none */
  readonly catalogs?: Readonly<Record<string, EventCatalog<Schemas>>>
  /** Metrics with a history, for rates and charts: the `metrics` of the connector's runtime. @defaultValue none */
  readonly metrics?: MetricsStore
  /** Compares figures with thresholds, for `/eventbus/health`. @defaultValue none */
  readonly thresholds?: ThresholdMonitor
  /** @defaultValue in memory: operations end with this process, and the API says so */
  readonly operations?: OperationStore
  /** How long a process that disappeared keeps its operations before another one continues them. @defaultValue 30,000 */
  readonly operationLeaseMs?: number
  /** Where changes of this API are written. With `query` it can be read, too. @defaultValue lines on standard error */
  readonly auditLog?: AuditLog & Partial<AuditReader>
  /** @defaultValue in memory, filled by reading the dead letter topics */
  readonly deadLetters?: DeadLetterIndex
  /** The parts of dead letters that the index holds, and how it groups them. @defaultValue all of them */
  readonly indexing?: IndexingOptions
  /**
   * Dead letter topics of other programs, by cluster, which are shown and never changed: names, of which a `*` stands for any
   * characters and case does not matter. @defaultValue those of the bindings alone
   */
  readonly deadLetterTopics?: Readonly<Record<string, readonly string[]>>
  /** Returns the operator who sends a request; null if unknown. @defaultValue none: only requests from this machine are answered */
  readonly identify?: (request: AdminRequest) => Promise<AdminIdentity | null> | AdminIdentity | null
  /** Returns what the operator may do. @defaultValue READ_ONLY; without `identify` ALL */
  readonly authorize?: (identity: AdminIdentity, request: AdminRequest) => Promise<AdminAccess> | AdminAccess
  readonly payloads?: PayloadPolicy
  /** Whether a dead letter may be edited before it is replayed, and which headers. @defaultValue false */
  readonly editing?: false | { readonly headers: 'CUSTOM' | 'SENSITIVE' }
  /** Which changes need a reason. @defaultValue 'DESTRUCTIVE' */
  readonly requireReason?: 'ALWAYS' | 'DESTRUCTIVE' | 'NEVER'
  /** The name of this process, as operations name their runner. @defaultValue the host name */
  readonly instance?: string
  /** Returns the page of a trace. @defaultValue none */
  readonly traceUrl?: (trace: { readonly traceId: string; readonly spanId: string }) => string
  /** Whether the console is served at the mount path, too. @defaultValue true */
  readonly console?: boolean
  /** Whether `/metrics` answers without an identity. @defaultValue false */
  readonly publicMetrics?: boolean
  /** @defaultValue the system's */
  readonly runtime?: Runtime
}

/** Options with their defaults. */
export interface ResolvedAdminOptions
  extends Omit<AdminOptions, 'runtime' | 'payloads' | 'clusters' | 'outboxes' | 'indexing'> {
  readonly indexing: IndexingRule
  readonly clusters: Readonly<Record<string, KafkaClient>>
  readonly outboxes: Readonly<Record<string, AdminOutbox>>
  readonly projections: Readonly<Record<string, AdminProjection>>
  readonly topologies: Readonly<Record<string, Topology>>
  readonly catalogs: Readonly<Record<string, EventCatalog<Schemas>>>
  readonly payloads: Required<PayloadPolicy>
  readonly editing: false | { readonly headers: 'CUSTOM' | 'SENSITIVE' }
  readonly requireReason: 'ALWAYS' | 'DESTRUCTIVE' | 'NEVER'
  readonly publicMetrics: boolean
  readonly operationLeaseMs: number
  readonly console: boolean
  readonly deadLetterTopics: Readonly<Record<string, readonly string[]>>
  readonly runtime: Runtime
}

const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    methods.every((method) => hasMethods(value, method))

const rules = {
  connector: optional(instance<Connector>('a connector', has('listBindings', 'health'))),
  clusters: mapOf(instance<KafkaClient>('a Kafka client', has('reader', 'close')), {
    default: {},
    because: 'a program may use an outbox alone',
  }),
  outboxes: mapOf(
    instance<AdminOutbox>('{ database, store, deadEvents }', (value) => typeof value === 'object' && value !== null),
    { default: {}, because: 'a program may consume only' },
  ),
  projections: mapOf(
    instance<AdminProjection>('{ projection, store }', (value) =>
      hasMethods((value as AdminProjection)?.store, 'builds'),
    ),
    { default: {}, because: 'a program may have none' },
  ),
  topologies: mapOf(
    instance<Topology>('a topology of defineTopology', (value) => Array.isArray((value as Topology)?.topics)),
    { default: {}, because: 'topics may be declared elsewhere' },
  ),
  catalogs: mapOf(
    instance<EventCatalog<Schemas>>(
      'a catalog of defineEvents',
      (value) => typeof value === 'object' && value !== null,
    ),
    { default: {}, because: 'a program may read records without a catalog' },
  ),
  metrics: optional(instance<MetricsStore>('a store of createMetricsStore', has('read', 'history'))),
  thresholds: optional(instance<ThresholdMonitor>('a monitor of createThresholdMonitor', has('report'))),
  operations: optional(instance<OperationStore>('an OperationStore', has('create', 'take', 'wish'))),
  operationLeaseMs: durationMs({ default: 30_000, min: 1_000, because: 'longer than a pause of the process' }),
  auditLog: optional(instance<AuditLog & Partial<AuditReader>>('an AuditLog', has('write'))),
  deadLetters: optional(instance<DeadLetterIndex>('a DeadLetterIndex', has('put', 'query', 'groups'))),
  indexing: nested({
    keys: boolean({ default: true, because: 'operators search for the keys of customers' }),
    messages: boolean({ default: true, because: 'operators search for messages' }),
    fingerprint: optional(func<NonNullable<IndexingOptions['fingerprint']>>()),
    fingerprintVersion: text({ default: '1', because: 'a first rule has one version' }),
  }),
  deadLetterTopics: mapOf(list(text()), { default: {}, because: 'bindings name their topics' }),
  identify: optional(func<NonNullable<AdminOptions['identify']>>()),
  authorize: optional(func<NonNullable<AdminOptions['authorize']>>()),
  payloads: nested({
    mask: list(text({ pattern: /^\$(?:\.\.?[A-Za-z_][\w-]*|\[\*\])+$/, called: 'a path such as $.card.number' }), {
      default: [],
      because: 'only the application knows what is secret',
    }),
    maskHeaders: list(text(), { default: [], because: 'only the application knows what is secret' }),
    notJson: oneOf(['SHOW', 'HIDE'], { default: 'HIDE', because: 'a mask cannot find anything in it' }),
  }),
  editing: orFalse(nested({ headers: oneOf(['CUSTOM', 'SENSITIVE']) }), {
    default: false,
    because: 'an edited record is one that no producer wrote',
  }),
  requireReason: oneOf(['ALWAYS', 'DESTRUCTIVE', 'NEVER'], {
    default: 'DESTRUCTIVE',
    because: 'a pause in the night must not wait for a text',
  }),
  instance: optional(text()),
  traceUrl: optional(func<NonNullable<AdminOptions['traceUrl']>>()),
  publicMetrics: boolean({ default: false, because: 'names of topics and bindings are not public' }),
  console: boolean({ default: true, because: 'its files hold no data, and its requests need an identity' }),
  runtime: runtimeRule,
}

/** Checks options and applies defaults. @throws OptionsError with every violation */
export function resolveAdminOptions(given: AdminOptions): ResolvedAdminOptions {
  const { runtime, ...options } = resolveOptions('createAdmin', rules, given, ({ authorize, identify }, report) => {
    if (authorize !== undefined && identify === undefined) report('authorize', 'needs identify, which says who asks')
  })
  return { ...options, runtime } as ResolvedAdminOptions
}
