/**
 * Retries until a deadline, only what may be retried. Each round requests the remaining items; a failed request to one
 * node does not affect the items of other nodes.
 */

import type { Runtime } from '@waybill/core'
import type { NodeAddress } from '../../wire/broker/kafka-transport.ts'
import { KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { addressOf } from '../cluster/nodes.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { AdminCallOptions } from './admin.ts'

/** The result of a round for each item. */
export type Answers<I, T> = ReadonlyMap<I, T | KafkaError>

/** Returns true if a read may be retried: also after a lost response, since it changes nothing. */
export function mayReadAgain({ kind }: KafkaError): boolean {
  return kind === 'RETRIABLE' || kind === 'UNKNOWN'
}

/** Returns true if a write may be retried: not after a lost response, which the caller must learn about. */
export function mayWriteAgain({ kind }: KafkaError): boolean {
  return kind === 'RETRIABLE'
}

/** Starts a call. */
export type StartRounds = (options: AdminCallOptions | undefined) => Rounds

/** The rounds of one call until its deadline. */
export class Rounds {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>
  readonly #signal: AbortSignal | undefined
  readonly #requestTimeoutMs: number
  readonly #endAt: number

  constructor(
    runtime: Pick<Runtime, 'clock' | 'timers' | 'random'>,
    signal: AbortSignal | undefined,
    requestTimeoutMs: number,
    deadlineMs: number,
  ) {
    this.#runtime = runtime
    this.#signal = signal
    this.#requestTimeoutMs = requestTimeoutMs
    this.#endAt = runtime.clock.monotonic() + deadlineMs
  }

  /** Time limit of the next request. */
  get timeoutMs(): number {
    return Math.max(1, Math.min(this.#requestTimeoutMs, this.#endAt - this.#runtime.clock.monotonic()))
  }

  /** Resolves with the last result of each item, in the order of the items. Rejects only when the signal aborts. */
  async settle<I, T>(
    items: Iterable<I>,
    mayAskAgain: (error: KafkaError) => boolean,
    ask: (open: readonly I[], round: number) => Promise<Answers<I, T>>,
  ): Promise<Map<I, T | KafkaError>> {
    const answers = new Map<I, T | KafkaError>()
    let open = [...new Set(items)]
    for (let round = 1; open.length > 0; round++) {
      const received = await answerAll(open, () => ask(open, round))
      for (const item of open) answers.set(item, received.get(item) ?? unanswered)
      open = open.filter((item) => {
        const answer = answers.get(item)
        return answer instanceof KafkaError && mayAskAgain(answer)
      })
      const waitMs = retryWaitMs(round, this.#runtime.random)
      if (open.length === 0 || this.#runtime.clock.monotonic() + waitMs >= this.#endAt) break
      await this.#runtime.timers.sleep(waitMs, this.#signal)
    }
    return answers
  }

  /** Resolves with the result of a request that is not about items. @throws KafkaError when it failed. */
  async one<T>(mayAskAgain: (error: KafkaError) => boolean, ask: () => Promise<T>): Promise<T> {
    const answers = await this.settle(['it'], mayAskAgain, async () => new Map([['it', { value: await ask() }]]))
    const answer = answers.get('it') ?? unanswered
    if (answer instanceof KafkaError) throw answer
    return answer.value
  }
}

const unanswered = new KafkaError('The response does not include this item.', 'FATAL', {
  hint: 'Report this as a bug, with the version of the broker.',
})

/** Returns the results of `ask`. If it fails as a whole, every item has that error. */
async function answerAll<I, T>(items: readonly I[], ask: () => Promise<Answers<I, T>>): Promise<Answers<I, T>> {
  try {
    return await ask()
  } catch (error) {
    const failure = toKafkaError('The request', error)
    return new Map(items.map((item) => [item, failure]))
  }
}

/** Items by the node responsible for them. */
export class Placement<I> {
  readonly #byAddress = new Map<string, { readonly node: NodeAddress; readonly items: I[] }>()

  add(node: NodeAddress, item: I): void {
    const address = addressOf(node)
    const there = this.#byAddress.get(address)
    if (there === undefined) this.#byAddress.set(address, { node, items: [item] })
    else there.items.push(item)
  }

  /** Sends one request to each node, all at once. */
  async ask<T>(
    send: (node: NodeAddress, items: readonly I[]) => Promise<Answers<I, T>>,
  ): Promise<Map<I, T | KafkaError>> {
    const asked = [...this.#byAddress.values()].map(({ node, items }) => answerAll(items, () => send(node, items)))
    return new Map((await Promise.all(asked)).flatMap((answers) => [...answers]))
  }
}
