import { hostname } from 'node:os'
import type { Connector } from '@waybill/connector'
import {
  type AdministrationOptions,
  createService,
  createUlidGenerator,
  type OperatorIdentity,
  type Runtime,
  type Service,
} from '@waybill/core'
import {
  AuditedOperations,
  administrationRule,
  createMemoryOperationStore,
  type DeadLetterIndex,
  type OperationItem,
  type OperationQuery,
  type OperationStore,
  type OperationType,
  type OperationWish,
  type Page,
  type PageQuery,
  runtimeRule,
  type StoredOperation,
} from '@waybill/core/internal'
import {
  boolean,
  durationMs,
  func,
  hasMethods,
  instance,
  isPlainObject,
  list,
  mapOf,
  optional,
  resolveOptions,
  text,
} from '@waybill/core/option'
import { type Fingerprint, standardFingerprint } from '../dead-letters/fingerprint.ts'
import { createDeadLetterKind, type DeadLetterKindDeps } from './dead-letter-kinds.ts'
import { LetterStates } from './letter-states.ts'
import { IdempotencyKeyReusedError, UnknownOperationTypeError } from './operation-errors.ts'
import type { OperationKind, PlannedOperation } from './operation-kind.ts'
import { limitRules } from './operation-limits.ts'
import type { OperationRequest } from './operation-request.ts'
import { OperationRunner } from './operation-runner.ts'
import { OperationTelemetry } from './operation-telemetry.ts'
import { OperationUpkeep } from './operation-upkeep.ts'
import { createOutboxKind, type OperatedOutbox } from './outbox-kinds.ts'
import { OutcomeTally } from './outcome-tally.ts'
import { createPurgeKind } from './purge-kind.ts'

/** An action of an operator on an operation: a permission, and the name in the audit log. */
export type OperationAction =
  | 'CREATE_OPERATION'
  | 'START_OPERATION'
  | 'PAUSE_OPERATION'
  | 'RESUME_OPERATION'
  | 'CANCEL_OPERATION'
  | 'CHANGE_OPERATION'

/** Options of {@link createOperations}. */
export interface OperationsOptions {
  /** @defaultValue none: no operations on dead letters */
  readonly connector?: Pick<Connector, 'admin'> | undefined
  /** @defaultValue none: no operations on outboxes */
  readonly outboxes?: Readonly<Record<string, OperatedOutbox>> | undefined
  /** @defaultValue in memory: operations end with this process */
  readonly store?: OperationStore | undefined
  /** The name of this process. @defaultValue the host name */
  readonly instance?: string | undefined
  /** Further types of operations. @defaultValue none */
  readonly kinds?: readonly OperationKind[] | undefined
  /**
   * Returns the failure group of a dead letter, for filters by group.
   * @defaultValue by error class, message without ids, first own frame and event type
   */
  readonly fingerprint?: Fingerprint | undefined
  /**
   * The index of dead letters: operations leave out what is not OPEN, and mark what they did.
   * @defaultValue none: operations know nothing of each other
   */
  readonly deadLetters?: DeadLetterIndex | undefined
  /**
   * Permissions and audit log for creating, starting, pausing, resuming, cancelling and changing operations. The effects
   * of an operation are permitted and audited by the connector and the outbox.
   * @defaultValue only the program itself; lines on standard error
   */
  readonly administration?: AdministrationOptions<OperationAction> | undefined
  /** How long a silent runner keeps its operation. @defaultValue 30,000 */
  readonly leaseMs?: number | undefined
  /** How often this process looks for operations without a runner. @defaultValue 5,000 */
  readonly pollMs?: number | undefined
  /** How long operations that ended are kept. @defaultValue 90 days */
  readonly keepMs?: number | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** Options of one operation. */
export interface CreateOptions {
  /** Plans only: the selection is frozen and counted, and waits a day for START. @defaultValue false */
  readonly dryRun?: boolean | undefined
  /** A second request of the same operator with this key is answered with the first operation. @defaultValue none */
  readonly idempotencyKey?: string | undefined
}

/**
 * Creates, runs and controls operations. Started, it also runs what another process created, and continues what a process
 * that disappeared had begun. `stop` ends each run after its batch and leaves it to another process.
 */
export interface Operations extends Service {
  readonly isDurable: boolean
  /**
   * Freezes a selection and runs it, or plans it.
   * @throws OptionsError for a request that is wrong, and the errors of the connector and the outbox
   */
  create(request: OperationRequest, operator: OperatorIdentity, options?: CreateOptions): Promise<StoredOperation>
  /**
   * Counts what an operation would take now. Creates nothing, and leaves no entry in the audit log.
   * @returns the plan that a dry run of `create` would store
   * @throws as `create`
   */
  plan(request: OperationRequest, operator: OperatorIdentity): Promise<unknown>
  get(id: string): Promise<StoredOperation | undefined>
  list(query: OperationQuery, page: PageQuery): Promise<Page<StoredOperation>>
  items(id: string, outcome: OperationItem['outcome'] | undefined, page: PageQuery): Promise<Page<OperationItem>>
  /**
   * Starts, pauses, resumes or cancels. The runner follows between two batches.
   * @returns undefined if there is no such operation
   * @throws OperationStateError if the state does not allow it
   */
  wish(id: string, wish: OperationWish, operator: OperatorIdentity): Promise<StoredOperation | undefined>
  /** Changes the records per second. @throws OperationStateError */
  setRate(id: string, rate: number, operator: OperatorIdentity): Promise<StoredOperation | undefined>
}

const planExpiresInMs = 86_400_000

const rules = {
  connector: optional(instance<Pick<Connector, 'admin'>>('a connector', (value) => typeof value === 'object')),
  outboxes: mapOf(
    instance<OperatedOutbox>('an object with deadEvents', (value) => typeof value === 'object'),
    {
      default: {},
      because: 'a program may consume only',
    },
  ),
  store: optional(instance<OperationStore>('a store of operations', (value) => hasMethods(value, 'take'))),
  instance: text({ default: hostname(), because: 'it names the process in answers' }),
  kinds: list(
    instance<OperationKind>('a type of operations', (value) => hasMethods(value, 'plan')),
    {
      default: [],
      because: 'most programs need no others',
    },
  ),
  fingerprint: optional(func<Fingerprint>()),
  deadLetters: optional(instance<DeadLetterIndex>('an index of dead letters', (value) => hasMethods(value, 'mark'))),
  administration: administrationRule,
  leaseMs: durationMs({ default: 30_000, min: 1_000, because: 'longer than a pause of the process' }),
  pollMs: durationMs({ default: 5_000, min: 10, because: 'a takeover within seconds is soon enough' }),
  keepMs: durationMs({ default: 90 * 86_400_000, min: 0, because: 'an incident is reviewed within weeks' }),
  runtime: runtimeRule,
}

const createRules = {
  dryRun: boolean({ default: false, because: 'a request without it means what it says' }),
  idempotencyKey: optional(text()),
}

/**
 * Creates the operations of a process: replays, releases and purges of dead letters, replays and purges of DEAD events.
 * @throws OptionsError with every violation
 */
export function createOperations(options: OperationsOptions): Operations {
  const resolved = resolveOptions('createOperations', rules, options)
  const {
    connector,
    outboxes,
    fingerprint,
    administration,
    instance: name,
    leaseMs,
    pollMs,
    keepMs,
    runtime,
  } = resolved
  const store = resolved.store ?? createMemoryOperationStore({ runtime })
  const { deadLetters } = resolved
  const states = deadLetters === undefined ? undefined : new LetterStates(deadLetters, fingerprint, runtime)
  const kinds = kindsOf(connector, outboxes, { fingerprint: fingerprint ?? standardFingerprint, states }, runtime)
  for (const kind of resolved.kinds) kinds.set(kind.type, kind)
  const audited = new AuditedOperations<OperationAction>(
    runtime,
    store.isDurable ? 'FLEET' : 'INSTANCE',
    administration,
  )
  const telemetry = new OperationTelemetry(store, runtime)
  const runner = new OperationRunner({ store, kinds, instance: name, runtime, leaseMs, pollMs, telemetry })
  const upkeep = new OperationUpkeep(store, keepMs, runtime)
  const nextId = createUlidGenerator(runtime)
  let tally: OutcomeTally | undefined
  const service = createService({
    name: 'operations',
    runtime,
    start: () => {
      tally = new OutcomeTally(store, name, runtime)
      states?.start()
      runner.start()
      telemetry.start()
      upkeep.start()
    },
    stop: async () => {
      await Promise.all([runner.stop(), telemetry.close(), upkeep.close()])
      await tally?.close()
      await states?.close()
    },
    running: () => runner.running,
  })

  const kindOf = (type: OperationType): OperationKind => {
    const kind = kinds.get(type)
    if (kind === undefined) throw new UnknownOperationTypeError(type, [...kinds.keys()])
    return kind
  }

  const create = async (
    { type, ...request }: OperationRequest,
    operator: OperatorIdentity,
    { dryRun, idempotencyKey }: { readonly dryRun: boolean; readonly idempotencyKey: string | undefined },
  ): Promise<StoredOperation> => {
    const planned = await kindOf(type).plan({ type, ...request }, operator, dryRun)
    const { rate = limitRules.rate.fallback } = planned.request as { readonly rate?: number }
    const id = `op_${nextId()}`
    const created = await store.create({
      id,
      type,
      target: planned.target,
      state: dryRun ? 'PLANNED' : 'RUNNING',
      by: operator.by,
      reason: operator.reason,
      request: planned.request,
      plan: planned.plan,
      rate: rate as number,
      progress: { scanned: 0n, sent: 0n, refused: {}, mayBeRepeated: 0n, remaining: planned.ranges },
      expiresInMs: planExpiresInMs,
      idempotencyKey,
    })
    const isOther = created.type !== type || !isSameRequest(created, planned)
    if (created.id !== id && isOther) throw new IdempotencyKeyReusedError(idempotencyKey ?? '')
    return created
  }

  const changed = async (
    operation: OperationAction,
    id: string,
    request: object,
    operator: OperatorIdentity,
    work: () => Promise<StoredOperation | undefined>,
  ): Promise<StoredOperation | undefined> => {
    const known = await store.get(id)
    if (known === undefined) return undefined
    const result = await audited.run(
      { operation, target: auditTarget(known.target), request: { id, ...request }, operator },
      work,
      wishedOf,
    )
    runner.look()
    return result
  }

  return {
    isDurable: store.isDurable,
    get state() {
      return service.state
    },
    start: () => service.start(),
    stop: (stopOptions) => service.stop(stopOptions),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    async create(request, operator, chosen = {}) {
      const given = resolveOptions('create()', createRules, chosen)
      const asked = {
        operation: 'CREATE_OPERATION',
        target: auditTarget(subjectOf(request)),
        request: auditable({ ...request, ...given }),
        operator,
      } as const
      const created = await audited.run(
        asked,
        () => create(request, operator, given),
        ({ id, state, plan }) => ({ id, state, plan }),
      )
      runner.look()
      return created
    },
    plan: async (request, operator) => (await kindOf(request.type).plan(request, operator, true)).plan,
    get: (id) => store.get(id),
    list: (query, page) => store.list(query, page),
    items: (id, outcome, page) => store.items(id, outcome, page),
    wish: (id, wish, operator) => changed(`${wish}_OPERATION`, id, {}, operator, () => store.wish(id, wish)),
    async setRate(id, given, operator) {
      const { rate } = resolveOptions('setRate()', { rate: limitRules.rate }, { rate: given })
      return changed('CHANGE_OPERATION', id, { rate }, operator, () => store.setRate(id, rate))
    },
  }
}

/** Members of a frozen request that depend on when it was made. */
const frozenTimes: readonly string[] = ['sinceMs', 'untilMs', 'diedBeforeMs']

/** Returns whether a request with a known idempotency key is the same, but for the time when it was made. */
function isSameRequest(known: StoredOperation, { target, request }: PlannedOperation): boolean {
  return known.target === target && timelessText(known.request) === timelessText(request)
}

function timelessText(request: unknown): string {
  return JSON.stringify(sorted(request), (name, value: unknown) => (frozenTimes.includes(name) ? undefined : value))
}

/** Databases may keep the members of JSON in an order of their own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

function subjectOf(request: OperationRequest): string {
  if ('binding' in request) return request.binding
  return 'outbox' in request ? request.outbox : request.projection
}

/** Returns a target as the other entries of a binding name it: without the default cluster. */
function auditTarget(target: string): string {
  return target.startsWith('default:') ? target.slice('default:'.length) : target
}

function wishedOf(operation: StoredOperation | undefined): object {
  return { state: operation?.state, wish: operation?.wish }
}

function kindsOf(
  connector: Pick<Connector, 'admin'> | undefined,
  outboxes: Readonly<Record<string, OperatedOutbox>>,
  letters: Omit<DeadLetterKindDeps, 'connector'>,
  runtime: Runtime,
): Map<OperationType, OperationKind> {
  const kinds: OperationKind[] = []
  if (connector !== undefined) {
    for (const type of ['REPLAY', 'REPLAY_TO_TIER', 'RELEASE', 'EDIT_REPLAY'] as const)
      kinds.push(createDeadLetterKind(type, { connector, ...letters }))
    kinds.push(createPurgeKind(connector, letters.states))
  }
  if (Object.keys(outboxes).length > 0)
    for (const type of ['OUTBOX_REPLAY', 'OUTBOX_PURGE'] as const)
      kinds.push(createOutboxKind(type, outboxes, () => runtime.clock.now()))
  return new Map(kinds.map((kind) => [kind.type, kind]))
}

/** An edited value is a payload, and does not belong in the audit log. */
function auditable(request: object): object {
  const { value, setHeaders, ...rest } = request as { readonly value?: Uint8Array | null; readonly setHeaders?: object }
  return {
    ...rest,
    ...(value === undefined ? {} : { valueBytes: value?.length ?? null }),
    ...(setHeaders === undefined ? {} : { setHeaders: Object.keys(setHeaders) }),
  }
}
