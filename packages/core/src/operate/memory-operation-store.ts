import type { Page, PageQuery } from '../page.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/runtime.ts'
import type {
  LogRange,
  NewOperation,
  OperationItem,
  OperationType,
  OperationWish,
  ReplayOutcomes,
  StoredOperation,
} from './operation.ts'
import { OperationStateError } from './operation-errors.ts'
import type {
  OperationEnd,
  OperationLease,
  OperationOrders,
  OperationQuery,
  OperationStore,
  TakenOperation,
} from './operation-store.ts'
import { afterWish, isFinal } from './operation-transition.ts'

/** Items kept per operation. */
export const maxOperationItems = 10_000

/** Operations kept in memory: the oldest final ones make room for new ones. */
const maxOperations = 1_000

interface Held {
  operation: StoredOperation
  leaseVersion: bigint
  intended: readonly LogRange[]
  readonly items: OperationItem[]
  readonly tallies: Map<string, ReplayOutcomes>
}

const noOutcomes: ReplayOutcomes = { succeeded: 0n, retrying: 0n, failedAgain: 0n, skipped: 0n }

/** Creates a store whose operations end with this process. */
export function createMemoryOperationStore({
  runtime = systemRuntime,
}: {
  readonly runtime?: Runtime
} = {}): OperationStore {
  return new MemoryOperationStore(runtime)
}

class MemoryOperationStore implements OperationStore {
  readonly isDurable = false
  readonly #runtime: Runtime
  readonly #held = new Map<string, Held>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  async create({ expiresInMs, state, ...given }: NewOperation): Promise<StoredOperation> {
    const known = [...this.#held.values()].find(({ operation }) => isSameRequest(operation, given))
    if (known !== undefined) return known.operation
    const now = this.#runtime.clock.now()
    const operation: StoredOperation = {
      ...given,
      state,
      pausedBy: undefined,
      wish: undefined,
      createdAtMs: now,
      startedAtMs: state === 'RUNNING' ? now : undefined,
      endedAtMs: undefined,
      expiresAtMs: state === 'PLANNED' ? now + expiresInMs : undefined,
      runner: undefined,
      leaseUntilMs: undefined,
      takeovers: 0,
      trouble: undefined,
      outcomes: noOutcomes,
    }
    this.#makeRoom()
    this.#held.set(operation.id, { operation, leaseVersion: 0n, intended: [], items: [], tallies: new Map() })
    return operation
  }

  async get(id: string): Promise<StoredOperation | undefined> {
    const held = this.#held.get(id)
    return held === undefined ? undefined : shown(held)
  }

  async list(query: OperationQuery, { limit, cursor }: PageQuery): Promise<Page<StoredOperation>> {
    const found = [...this.#held.values()]
      .map(shown)
      .filter((one) => isSelected(one, query) && (cursor === undefined || one.id < cursor))
      .toSorted((one, other) => (one.id < other.id ? 1 : -1))
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  }

  async take(owner: string, types: readonly OperationType[], leaseMs: number): Promise<TakenOperation | undefined> {
    const now = this.#runtime.clock.now()
    const held = [...this.#held.values()]
      .filter(({ operation }) => operation.state === 'RUNNING' && types.includes(operation.type))
      .filter(({ operation: { leaseUntilMs } }) => leaseUntilMs === undefined || leaseUntilMs <= now)
      .toSorted((one, other) => (one.operation.id < other.operation.id ? -1 : 1))[0]
    if (held === undefined) return undefined
    const isTakeover = held.operation.runner !== undefined
    held.leaseVersion++
    held.operation = {
      ...held.operation,
      runner: owner,
      leaseUntilMs: now + leaseMs,
      takeovers: held.operation.takeovers + (isTakeover ? 1 : 0),
    }
    const { operation, intended, leaseVersion } = held
    return { lease: { id: operation.id, owner, version: leaseVersion }, operation: shown(held), isTakeover, intended }
  }

  async renew(lease: OperationLease, leaseMs: number): Promise<OperationOrders | undefined> {
    return this.#write(lease, (held) => {
      held.operation = { ...held.operation, leaseUntilMs: this.#runtime.clock.now() + leaseMs }
    })
  }

  async release(lease: OperationLease): Promise<void> {
    this.#write(lease, (held) => {
      held.operation = { ...held.operation, ...noRunner }
    })
  }

  async intend(lease: OperationLease, batch: readonly LogRange[]): Promise<OperationOrders | undefined> {
    return this.#write(lease, (held) => {
      held.intended = batch
    })
  }

  async settle(
    lease: OperationLease,
    progress: StoredOperation['progress'],
    items: readonly OperationItem[],
  ): Promise<OperationOrders | undefined> {
    return this.#write(lease, (held) => {
      held.operation = { ...held.operation, progress }
      held.intended = []
      const known = new Set(held.items.map(nameOfItem))
      const added = items.filter((item) => !known.has(nameOfItem(item)))
      held.items.push(...added.slice(0, Math.max(0, maxOperationItems - held.items.length)))
    })
  }

  async setTrouble(lease: OperationLease, trouble: StoredOperation['trouble']): Promise<boolean> {
    const orders = this.#write(lease, (held) => {
      held.operation = { ...held.operation, trouble }
    })
    return orders !== undefined
  }

  async finish(lease: OperationLease, end: OperationEnd): Promise<boolean> {
    const orders = this.#write(lease, (held) => {
      held.operation = {
        ...held.operation,
        ...noRunner,
        state: end.state,
        wish: undefined,
        pausedBy: end.state === 'PAUSED' ? end.pausedBy : undefined,
        trouble: end.state === 'FAILED' ? end.error : undefined,
        endedAtMs: isFinal(end.state) ? this.#runtime.clock.now() : undefined,
      }
    })
    return orders !== undefined
  }

  async wish(id: string, wish: OperationWish): Promise<StoredOperation | undefined> {
    const held = this.#held.get(id)
    if (held === undefined) return undefined
    const now = this.#runtime.clock.now()
    this.#expire(held)
    const { operation } = held
    const isLeased = operation.leaseUntilMs !== undefined && operation.leaseUntilMs > now
    const change = afterWish(operation, wish, isLeased)
    held.operation = {
      ...operation,
      ...change,
      ...(change.state === operation.state ? {} : { runner: undefined, leaseUntilMs: undefined }),
      startedAtMs: operation.startedAtMs ?? (change.state === 'RUNNING' ? now : undefined),
      expiresAtMs: change.state === 'RUNNING' ? undefined : operation.expiresAtMs,
      endedAtMs: isFinal(change.state) ? now : undefined,
    }
    return shown(held)
  }

  async setRate(id: string, rate: number): Promise<StoredOperation | undefined> {
    const held = this.#held.get(id)
    if (held === undefined) return undefined
    if (isFinal(held.operation.state))
      throw new OperationStateError(id, 'change', held.operation.state, ['PLANNED', 'RUNNING', 'PAUSED'])
    held.operation = { ...held.operation, rate }
    return shown(held)
  }

  async items(
    id: string,
    outcome: OperationItem['outcome'] | undefined,
    { limit, cursor = '0' }: PageQuery,
  ): Promise<Page<OperationItem>> {
    const all = (this.#held.get(id)?.items ?? []).filter((one) => outcome === undefined || one.outcome === outcome)
    const from = Number(cursor)
    const next = from + limit
    return { items: all.slice(from, next), next: next < all.length ? String(next) : null }
  }

  async tally(id: string, instance: string, counts: ReplayOutcomes): Promise<void> {
    this.#held.get(id)?.tallies.set(instance, counts)
  }

  async purge(olderThanMs: number, limit: number): Promise<number> {
    const before = this.#runtime.clock.now() - olderThanMs
    let deleted = 0
    for (const held of this.#held.values()) {
      this.#expire(held)
      const { id, endedAtMs } = held.operation
      if (deleted === limit || endedAtMs === undefined || endedAtMs > before) continue
      this.#held.delete(id)
      deleted++
    }
    return deleted
  }

  /** Applies a write of the lease's owner; undefined if the lease was taken. */
  #write({ id, version }: OperationLease, change: (held: Held) => void): OperationOrders | undefined {
    const held = this.#held.get(id)
    if (held === undefined || held.leaseVersion !== version || held.operation.runner === undefined) return undefined
    change(held)
    return { wish: held.operation.wish, rate: held.operation.rate }
  }

  #expire(held: Held): void {
    const now = this.#runtime.clock.now()
    const { state, expiresAtMs } = held.operation
    if (state === 'PLANNED' && expiresAtMs !== undefined && expiresAtMs <= now)
      held.operation = { ...held.operation, state: 'CANCELLED', endedAtMs: now }
  }

  #makeRoom(): void {
    if (this.#held.size < maxOperations) return
    for (const { operation } of this.#held.values()) {
      if (!isFinal(operation.state)) continue
      this.#held.delete(operation.id)
      return
    }
  }
}

const noRunner = { runner: undefined, leaseUntilMs: undefined } as const

function nameOfItem({ topic, partition, offset, outcome }: OperationItem): string {
  return `${topic}:${partition}:${offset}:${outcome}`
}

function isSameRequest(one: StoredOperation, other: Pick<NewOperation, 'by' | 'idempotencyKey'>): boolean {
  return other.idempotencyKey !== undefined && one.idempotencyKey === other.idempotencyKey && one.by === other.by
}

function isSelected({ state, type, by, target }: StoredOperation, query: OperationQuery): boolean {
  return (
    (query.states?.includes(state) ?? true) &&
    (query.types?.includes(type) ?? true) &&
    (query.by ?? by) === by &&
    (query.target ?? target) === target
  )
}

function shown({ operation, tallies }: Held): StoredOperation {
  return tallies.size === 0 ? operation : { ...operation, outcomes: [...tallies.values()].reduce(addOutcomes) }
}

/** Adds the outcomes that two instances counted. */
export function addOutcomes(one: ReplayOutcomes, other: ReplayOutcomes): ReplayOutcomes {
  return {
    succeeded: one.succeeded + other.succeeded,
    retrying: one.retrying + other.retrying,
    failedAgain: one.failedAgain + other.failedAgain,
    skipped: one.skipped + other.skipped,
  }
}
