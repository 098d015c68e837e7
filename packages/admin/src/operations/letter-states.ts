/**
 * The states of dead letters that operations set: one of two operations on a dead letter takes it, and outcomes of its copy are
 * noted.
 *
 *     OPEN ─ take ─▶ REPLAYED ─ copy DONE ─▶ SUCCEEDED
 *       ▲               │ └──── copy in a tier, or dead again ─▶ FAILED_AGAIN ─ DONE in the tier ─▶ SUCCEEDED
 *       └─ not sent ────┘
 *     OPEN ─ release ─▶ RELEASED,  OPEN ─ edited replay ─▶ RESOLVED
 */

import type { Connector, StoredDeadLetter } from '@waybill/connector'
import type { DeadLetterPosition } from '@waybill/connector/internal'
import { type EngineEvents, onEngineEvent, type Runtime } from '@waybill/core'
import type {
  DeadLetterIndex,
  DeadLetterRef,
  DeadLetterState,
  LogRange,
  OperationType,
  OriginalRef,
} from '@waybill/core/internal'
import type { Fingerprint } from '../dead-letters/fingerprint.ts'
import { indexedLetter } from '../dead-letters/indexed-letter.ts'

type Settled = EngineEvents['replay:settled']

const flushMs = 1_000
/** Outcomes that wait for the index: it may be away, and handlers do not wait for it. */
const maxWaiting = 10_000
/** Selected dead letters that are kept until their batch is applied: more than a batch reads. */
const maxRead = 2_000
/** Dead letters whose states are asked for at the same time. */
const askedAtOnce = 50

const stateAfter: Readonly<Partial<Record<OperationType, DeadLetterState>>> = {
  RELEASE: 'RELEASED',
  EDIT_REPLAY: 'RESOLVED',
}

/** The marks of one run of an operation. */
export interface LetterMarks {
  /** Remembers a dead letter that was selected: the index may not have it yet. */
  readonly read: (letter: StoredDeadLetter) => void
  /** Marks dead letters, and returns those that no other operation has. */
  take<T extends DeadLetterPosition>(selected: readonly T[]): Promise<readonly T[]>
  /** Opens dead letters again that were not sent. Never rejects. */
  giveBack(positions: readonly DeadLetterPosition[]): Promise<void>
}

/** Marks dead letters for operations, and notes the outcomes of their copies between start and close. */
export class LetterStates {
  readonly #index: DeadLetterIndex
  readonly #fingerprint: Fingerprint | undefined
  readonly #runtime: Runtime
  readonly #waiting = new Map<string, Settled>()
  readonly #closing = new AbortController()
  #subscription: Disposable | undefined
  #flushing: Promise<void> | undefined
  #wake = Promise.withResolvers<void>()

  constructor(index: DeadLetterIndex, fingerprint: Fingerprint | undefined, runtime: Runtime) {
    this.#index = index
    this.#fingerprint = fingerprint
    this.#runtime = runtime
  }

  start(): void {
    this.#subscription = onEngineEvent('replay:settled', (event) => this.#settled(event))
    this.#flushing = this.#run()
  }

  /** Writes what waits. Never rejects. */
  async close(): Promise<void> {
    this.#subscription?.[Symbol.dispose]()
    this.#closing.abort()
    this.#wake.resolve()
    await this.#flushing
    await this.#flush()
  }

  /**
   * Returns a function that selects the dead letters of a binding that an operation could take now. It changes nothing. A
   * dead letter that the index does not have yet is OPEN.
   */
  openAmong(
    { admin }: Pick<Connector, 'admin'>,
    binding: string,
  ): <T extends DeadLetterPosition>(selected: readonly T[]) => Promise<readonly T[]> {
    const { cluster } = admin.binding(binding)
    return async (selected) => {
      const open: (typeof selected)[number][] = []
      for (let at = 0; at < selected.length; at += askedAtOnce) {
        const some = selected.slice(at, at + askedAtOnce)
        const known = await Promise.all(
          some.map(({ topic, partition, offset }) => this.#index.get({ cluster, topic, partition, offset })),
        )
        open.push(...some.filter((_, index) => (known[index]?.state ?? 'OPEN') === 'OPEN'))
      }
      return open
    }
  }

  /** Begins the marks of an operation. */
  open(
    { admin }: Pick<Connector, 'admin'>,
    { id, type, binding }: { readonly id: string; readonly type: OperationType; readonly binding: string },
  ): LetterMarks {
    const { name, cluster } = admin.binding(binding)
    const place = { cluster, binding: cluster === 'default' ? name : `${cluster}:${name}` }
    const state = stateAfter[type] ?? 'REPLAYED'
    const refOf = ({ topic, partition, offset }: DeadLetterPosition): DeadLetterRef => ({
      cluster,
      topic,
      partition,
      offset,
    })
    const read = new Map<string, StoredDeadLetter>()
    const rule = { keys: true, messages: true, fingerprint: this.#fingerprint }
    return {
      read: (letter) => {
        read.set(positionKey(letter), letter)
        const [oldest] = read.size > maxRead ? read.keys() : []
        if (oldest !== undefined) read.delete(oldest)
      },
      take: async (selected) => {
        const unknown: StoredDeadLetter[] = []
        for (const one of selected) {
          const letter = read.get(positionKey(one))
          if (letter !== undefined && (await this.#index.get(refOf(one))) === undefined) unknown.push(letter)
          read.delete(positionKey(one))
        }
        await this.#index.put(
          unknown.map((letter) => indexedLetter(letter, place, rule)),
          [],
        )
        const taken = await this.#index.mark(selected.map(refOf), ['OPEN'], state, id)
        const keys = new Set(taken.map(positionKey))
        return selected.filter((one) => keys.has(positionKey(one)))
      },
      giveBack: async (positions) => {
        if (positions.length === 0) return
        try {
          await this.#index.mark(positions.map(refOf), [state], 'OPEN', undefined)
        } catch (err) {
          this.#runtime.logger.warn({ err, operation: id }, 'Dead letters not opened again')
        }
      },
    }
  }

  /** Deletes purged dead letters from the index. Never rejects: the reader of the topic deletes them, too, a little later. */
  async forget(cluster: string, purged: readonly LogRange[]): Promise<void> {
    for (const { topic, partition, until } of purged) {
      try {
        await this.#index.forget({ cluster, topic, partition }, until)
      } catch (err) {
        this.#runtime.logger.warn({ err, topic, partition }, 'Purged dead letters not forgotten')
      }
    }
  }

  #settled(event: Settled): void {
    if (event.outcome === 'SKIP') return
    const { cluster, operation } = event
    const { topic, partition, offset } = originalOf(event)
    // The last outcome of a copy counts.
    this.#waiting.set(JSON.stringify([cluster, operation, topic, partition, String(offset)]), event)
    this.#wake.resolve()
    const [oldest] = this.#waiting.size > maxWaiting ? this.#waiting.keys() : []
    if (oldest !== undefined) this.#waiting.delete(oldest)
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      await this.#wake.promise
      this.#wake = Promise.withResolvers()
      if (signal.aborted) return
      await this.#runtime.timers.sleep(flushMs, signal).catch(() => {})
      await this.#flush()
      if (this.#waiting.size > 0) this.#wake.resolve()
    }
  }

  async #flush(): Promise<void> {
    for (const [key, event] of this.#waiting) {
      try {
        await this.#note(event)
        if (this.#waiting.get(key) === event) this.#waiting.delete(key)
      } catch (err) {
        this.#runtime.logger.warn({ err }, 'Outcomes of copies not noted, retrying')
        return
      }
    }
  }

  async #note(event: Settled): Promise<void> {
    const { cluster, operation, outcome } = event
    const original = originalOf(event)
    const { items } = await this.#index.query({ cluster, operation, original }, { limit: 10 })
    const copied = items.filter(({ state }) => state === 'REPLAYED' || state === 'FAILED_AGAIN')
    if (copied.length === 0) return
    const state = outcome === 'DONE' ? 'SUCCEEDED' : 'FAILED_AGAIN'
    await this.#index.mark(copied, ['REPLAYED', 'FAILED_AGAIN'], state, operation)
  }
}

/** A copy in the source topic has a position of its own: what it claims is believed for a state that is only shown. */
function originalOf(event: Settled): OriginalRef {
  const { claimedOriginal, originalTopic: topic, originalPartition: partition, originalOffset: offset } = event
  return claimedOriginal ?? { topic, partition, offset }
}

function positionKey({ topic, partition, offset }: DeadLetterPosition): string {
  return `${offset}/${partition}/${topic}`
}
