/**
 * Runs one operation under a lease:
 *
 *     taken ─▶ unsettled batches of the runner before are counted ─▶ opened
 *       [ next ▸ intend ▸ apply ▸ settle ]* ─▶ finished: DONE, PAUSED, CANCELLED, FAILED
 *
 * | event | consequence |
 * |---|---|
 * | crash between intend and settle | the next runner repeats this batch, and counts it as `mayBeRepeated` |
 * | the lease was taken | the next write changes nothing, and this runner stops before its next batch |
 * | an answer of the store is lost | the same write is repeated: it is absolute |
 * | a broker or the database is away | the operation stays RUNNING with `trouble`, and continues with backoff |
 * | stop of the process | ends after its batch, or while it reads the next one, and releases the lease |
 * | pause or cancel | the same, at the latest a second later |
 */

import {
  applicationOperator,
  describeThrown,
  type OperatorIdentity,
  type Runtime,
  StateError,
  WaybillError,
} from '@waybill/core'
import {
  backoffMs,
  type ErrorText,
  type LogRange,
  type OperationEnd,
  type OperationItem,
  type OperationLease,
  type OperationOrders,
  type OperationProgress,
  type OperationStore,
  type TakenOperation,
} from '@waybill/core/internal'
import { cursorOf, decideStep, type RunCursor } from './decide-step.ts'
import { isPermanent } from './is-permanent.ts'
import { maxTakeovers, OperationStalledError } from './operation-errors.ts'
import type { AppliedBatch, OperationKind, OperationSession, RefusedRecord, RunBatch } from './operation-kind.ts'
import type { OperationLimits } from './operation-limits.ts'
import type { OperationTelemetry } from './operation-telemetry.ts'

/** The collaborators of a run. */
export interface RunDeps {
  readonly store: OperationStore
  readonly kind: OperationKind
  readonly runtime: Runtime
  readonly leaseMs: number
  readonly telemetry: OperationTelemetry
  /** Aborts when the process stops: the run ends after its batch. */
  readonly stopping: AbortSignal
}

const retryPolicy = { initialMs: 500, multiplier: 2, maxMs: 30_000, jitterExceedsMax: false }
/** The longest time without a look at the wishes of operators. */
const lookMs = 1_000
/** Refused records kept with each batch. */
const maxRefusedItems = 1_000

/** Thrown once the run is over: it ended, another instance took the lease, or the process stops. */
const runOver = new StateError('The run of the operation is over.')

/** Runs an operation until it ends, or another instance has to continue it. Never rejects. */
export async function runOperation(taken: TakenOperation, deps: RunDeps): Promise<void> {
  const run = new OperationRun(taken, deps)
  try {
    await run.run()
  } catch (err) {
    if (err !== runOver) deps.runtime.logger.error({ err, operation: taken.operation.id }, 'Operation not run')
  }
}

class OperationRun {
  readonly #deps: RunDeps
  readonly #taken: TakenOperation
  readonly #lease: OperationLease
  readonly #limits: OperationLimits
  readonly #operator: OperatorIdentity
  readonly #over = new AbortController()
  #progress: OperationProgress
  #orders: OperationOrders
  /** The records that the rate makes the next batch wait for. */
  #paced = { sinceMs: 0, count: 0 }
  #awaitedSince: number | undefined
  #hasTrouble: boolean

  constructor(taken: TakenOperation, deps: RunDeps) {
    const { operation, lease } = taken
    this.#deps = deps
    this.#taken = taken
    this.#lease = lease
    this.#limits = operation.request as OperationLimits
    this.#operator = operatorOf(operation)
    this.#progress = operation.progress
    this.#orders = { wish: operation.wish, rate: operation.rate }
    this.#hasTrouble = operation.trouble !== undefined
  }

  async run(): Promise<void> {
    const { leaseMs, runtime, store, stopping } = this.#deps
    const renewing = this.#renewEvery(leaseMs / 3)
    const stop = (): void => this.#over.abort()
    try {
      await this.#countUnsettled()
      for (let failures = 0; !stopping.aborted; ) {
        const before = this.#progress
        try {
          return await this.#runSession()
        } catch (error) {
          if (error === runOver) throw error
          failures = this.#progress === before ? failures + 1 : 1
          if (isPermanent(error, failures)) return await this.#finish({ state: 'FAILED', error: textOf(error) })
          await this.#setTrouble(textOf(error))
          await this.#pause(backoffMs(retryPolicy, failures, runtime.random))
        }
        await this.#look()
      }
    } finally {
      stop()
      await renewing
      // Everything that was intended is settled here; otherwise the lease expires, and the next runner learns of it.
      if (stopping.aborted && !this.#isUnsettled) await store.release(this.#lease).catch(() => {})
    }
  }

  #isUnsettled = false

  /** Counts the records that the runner before intended and did not settle: they may take effect again. */
  async #countUnsettled(): Promise<void> {
    const { intended, operation, isTakeover } = this.#taken
    const { kind } = this.#deps
    const cursor = cursorOf(operation.progress)
    if (!isTakeover && intended.length === 0) return
    const idleTakeovers = (cursor.idleTakeovers ?? 0) + 1
    const repeated = kind.isIdempotent ? [] : intended
    await this.#settle(
      {
        ...operation.progress,
        mayBeRepeated: operation.progress.mayBeRepeated + sizeOf(repeated),
        cursor: { ...cursor, idleTakeovers },
      },
      itemsOf(repeated, 'the runner before did not settle it'),
    )
    if (idleTakeovers >= maxTakeovers)
      await this.#finish({ state: 'FAILED', error: textOf(new OperationStalledError(operation.id, idleTakeovers)) })
  }

  async #runSession(): Promise<void> {
    const { kind } = this.#deps
    await this.#waitForOthers()
    await using session = await kind.open({ ...this.#taken.operation, progress: this.#progress }, this.#operator)
    for (;;) {
      if (this.#deps.stopping.aborted) return
      const { outcomes } = await this.#read()
      const step = decideStep({
        limits: this.#limits,
        orders: this.#orders,
        progress: this.#progress,
        outcomes,
        awaitedMs: this.#awaitedMs(),
      })
      if (step.kind === 'END') return await this.#end(step.end, step.cursor)
      if (step.kind === 'AWAIT_CANARY') {
        this.#awaitedSince ??= this.#deps.runtime.clock.monotonic()
        await this.#pause(lookMs / 4)
        await this.#look()
      } else if (!(await this.#runBatch(session, step.maxCount)))
        return await this.#end({ state: 'DONE' }, this.#cursor)
    }
  }

  /** Returns false at the end of the selection. */
  async #runBatch(session: OperationSession, maxCount: number): Promise<boolean> {
    const { runtime, store, kind } = this.#deps
    if (!(await this.#waitForRate())) return true
    const batch = await this.#readBatch(session, maxCount)
    if (batch === 'LEFT') return true
    if (batch === undefined) return false
    let applied: AppliedBatch = { sent: 0, refused: [], unsent: [], unknown: [], failure: undefined }
    if (batch.count > 0) {
      this.#isUnsettled = true
      this.#follow(await this.#stored(() => store.intend(this.#lease, batch.intended)))
      await runtime.failpoint('operation.intended')
      applied = await session.apply(batch).catch((error: unknown) => allUnknown(batch, error))
      await runtime.failpoint('operation.sent')
      this.#paced = { sinceMs: runtime.clock.monotonic(), count: batch.count }
    }
    const counted = kind.isIdempotent
      ? { ...applied, unsent: [...applied.unsent, ...applied.unknown], unknown: [] }
      : applied
    await this.#settle(progressAfter(this.#progress, batch, counted), itemsAfter(batch, counted))
    this.#isUnsettled = false
    this.#count(batch, counted)
    await runtime.failpoint('operation.settled')
    if (applied.failure !== undefined) throw applied.failure
    if (this.#hasTrouble) await this.#setTrouble(undefined)
    return true
  }

  /** Reads the next batch. Abandons the read, which has no effect, when the process stops or an operator wishes something. */
  async #readBatch(session: OperationSession, maxCount: number): Promise<RunBatch | undefined | 'LEFT'> {
    const leaving = new AbortController()
    const isRead = new AbortController()
    const reading = session.next(maxCount, leaving.signal)
    const left = this.#untilLeft(isRead.signal)
    // The race reports the first failure. An abandoned read fails later, and so may the last query for wishes.
    for (const one of [reading, left]) one.catch(() => {})
    try {
      const first = await Promise.race([reading, left])
      if (first === 'LEFT') leaving.abort(runOver)
      return first
    } finally {
      isRead.abort()
    }
  }

  /** Resolves when the process stops, an operator wishes something, or the signal aborts. */
  async #untilLeft(isRead: AbortSignal): Promise<'LEFT'> {
    const { runtime, stopping } = this.#deps
    const ended = AbortSignal.any([isRead, stopping])
    while (this.#orders.wish === undefined && (await sleep(runtime, lookMs, ended))) await this.#look()
    return 'LEFT'
  }

  #count(batch: RunBatch, { sent, refused, unknown }: AppliedBatch): void {
    const { telemetry } = this.#deps
    const { type } = this.#taken.operation
    telemetry.count(type, 'SENT', sent)
    telemetry.count(type, 'REFUSED', batch.refused.length + refused.length)
    telemetry.count(type, 'MAY_REPEAT', Number(sizeOf(unknown)))
  }

  /** Waits until the rate permits the next batch. Returns false if an operator wished something meanwhile. */
  async #waitForRate(): Promise<boolean> {
    for (;;) {
      const { sinceMs, count } = this.#paced
      const waitMs = sinceMs + (count * 1_000) / this.#orders.rate - this.#deps.runtime.clock.monotonic()
      if (waitMs <= 0) return true
      await this.#pause(Math.min(waitMs, lookMs))
      if (waitMs > lookMs) await this.#look()
      if (this.#orders.wish !== undefined || this.#deps.stopping.aborted) return false
    }
  }

  /** Waits while an older operation of the same kind runs on the same ranges. */
  async #waitForOthers(): Promise<void> {
    const { kind, store, stopping } = this.#deps
    while (kind.isExclusive && !stopping.aborted) {
      const { id, target } = this.#taken.operation
      const { items } = await store.list({ states: ['RUNNING'], target }, { limit: 500 })
      const { remaining } = this.#progress
      const before = items.find((one) => one.id < id && overlaps(one.progress.remaining, remaining))
      if (before === undefined) return
      await this.#setTrouble({ code: undefined, message: `waits for ${before.id}` })
      await this.#pause(lookMs)
      await this.#look()
      if (this.#orders.wish !== undefined) return
    }
  }

  async #end(end: OperationEnd, cursor: RunCursor): Promise<void> {
    if (cursor !== this.#cursor) await this.#settle({ ...this.#progress, cursor }, [])
    await this.#finish(end)
  }

  async #finish(end: OperationEnd): Promise<never> {
    await this.#stored(async () => ((await this.#deps.store.finish(this.#lease, end)) ? this.#orders : undefined))
    throw runOver
  }

  async #settle(progress: OperationProgress, items: readonly OperationItem[]): Promise<void> {
    this.#follow(await this.#stored(() => this.#deps.store.settle(this.#lease, progress, items)))
    this.#progress = progress
  }

  async #setTrouble(trouble: ErrorText | undefined): Promise<void> {
    this.#hasTrouble = trouble !== undefined
    if (trouble !== undefined)
      this.#deps.runtime.logger.warn(
        { operation: this.#lease.id, trouble: trouble.message },
        'Operation does not advance',
      )
    // The trouble may be the store itself.
    await this.#deps.store.setTrouble(this.#lease, trouble).catch(() => {})
  }

  /** Reads the wishes of operators. */
  async #look(): Promise<void> {
    this.#follow(await this.#stored(() => this.#deps.store.renew(this.#lease, this.#deps.leaseMs)))
  }

  async #read(): Promise<TakenOperation['operation']> {
    const operation = await this.#stored(() => this.#deps.store.get(this.#lease.id))
    return operation
  }

  /**
   * Repeats a call of the store until it is answered: an unknown write may have taken effect, and is absolute.
   * @throws runOver if another instance took the lease, or the process stops while the store is away
   */
  async #stored<T>(call: () => Promise<T | undefined>): Promise<T> {
    const { runtime, stopping } = this.#deps
    for (let failures = 1; ; failures++) {
      try {
        const answer = await call()
        if (answer === undefined) throw runOver
        return answer
      } catch (err) {
        if (err === runOver) throw err
        runtime.logger.warn({ err, operation: this.#lease.id }, 'Store of operations failed, retrying')
        if (stopping.aborted) throw runOver
        await this.#pause(backoffMs(retryPolicy, failures, runtime.random))
      }
    }
  }

  #follow(orders: OperationOrders): void {
    this.#orders = orders
  }

  get #cursor(): RunCursor {
    return cursorOf(this.#progress)
  }

  #awaitedMs(): number {
    return this.#awaitedSince === undefined ? 0 : this.#deps.runtime.clock.monotonic() - this.#awaitedSince
  }

  /** Renews the lease until the run is over. Never rejects. */
  async #renewEvery(ms: number): Promise<void> {
    const { store, leaseMs, runtime } = this.#deps
    while (await sleep(runtime, ms, this.#over.signal)) {
      try {
        const orders = await store.renew(this.#lease, leaseMs)
        if (orders === undefined) return
      } catch (err) {
        runtime.logger.warn({ err, operation: this.#lease.id }, 'Lease of an operation not renewed, retrying')
      }
    }
  }

  /** Waits, or returns early when the process stops. */
  async #pause(ms: number): Promise<void> {
    await sleep(this.#deps.runtime, ms, this.#deps.stopping)
  }
}

/** Returns false if the signal aborted first. */
async function sleep({ timers }: Runtime, ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  return timers.sleep(ms, signal).then(
    () => true,
    () => false,
  )
}

/** The name of the program itself cannot be given by anyone else, so a stored one was the program's. */
function operatorOf({ by, reason }: TakenOperation['operation']): OperatorIdentity {
  const application = applicationOperator(reason)
  return by === application.by ? application : { by, ...(reason === undefined ? {} : { reason }) }
}

/** A failure that says nothing about single records. */
function allUnknown({ intended }: RunBatch, error: unknown): AppliedBatch {
  const failure = error instanceof Error ? error : new StateError(describeThrown(error))
  return { sent: 0, refused: [], unsent: [], unknown: intended, failure }
}

function progressAfter(progress: OperationProgress, batch: RunBatch, applied: AppliedBatch): OperationProgress {
  const refused = { ...progress.refused }
  for (const { reason } of [...batch.refused, ...applied.refused]) refused[reason] = (refused[reason] ?? 0n) + 1n
  const again = [...applied.unsent, ...applied.unknown]
  const { idleTakeovers: _, ...cursor } = cursorOf(progress)
  // A cursor of a batch cannot name single records that failed: the whole batch is repeated.
  const position = applied.position ?? (applied.failure === undefined ? batch.position : undefined)
  return {
    scanned: progress.scanned + BigInt(applied.scanned ?? batch.scanned) - sizeOf(again),
    sent: progress.sent + BigInt(applied.sent),
    refused,
    mayBeRepeated: progress.mayBeRepeated + sizeOf(applied.unknown),
    remaining: [...again, ...batch.remaining],
    cursor: position === undefined ? cursor : { ...cursor, position },
  }
}

function itemsAfter(batch: RunBatch, applied: AppliedBatch): readonly OperationItem[] {
  const refused = [...batch.refused, ...applied.refused].slice(0, maxRefusedItems)
  return [...refused.flatMap(refusedItem), ...itemsOf(applied.unknown, applied.failure?.message ?? 'unknown')]
}

function refusedItem({ at, reason }: RefusedRecord): OperationItem[] {
  return at === undefined ? [] : [{ ...at, outcome: 'REFUSED', detail: reason }]
}

function itemsOf(ranges: readonly LogRange[], detail: string): OperationItem[] {
  return ranges.flatMap(({ topic, partition, from, until }) =>
    Array.from({ length: Number(until - from) }, (_, index) => ({
      topic,
      partition,
      offset: from + BigInt(index),
      outcome: 'MAY_REPEAT' as const,
      detail,
    })),
  )
}

function sizeOf(ranges: readonly LogRange[]): bigint {
  return ranges.reduce((sum, { from, until }) => sum + until - from, 0n)
}

function overlaps(some: readonly LogRange[], others: readonly LogRange[]): boolean {
  return some.some((one) =>
    others.some(
      (other) =>
        one.topic === other.topic &&
        one.partition === other.partition &&
        one.from < other.until &&
        other.from < one.until,
    ),
  )
}

function textOf(error: unknown): ErrorText {
  const code = error instanceof WaybillError ? error.code : undefined
  return { code, message: describeThrown(error).slice(0, 1_000) }
}
