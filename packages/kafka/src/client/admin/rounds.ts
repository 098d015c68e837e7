/**
 * Asking again, only for what may be asked again, until a deadline. Each round asks for what is still open; a request to
 * one node that fails leaves the items of the other nodes alone.
 */

import type { Runtime } from '@waybill/core'
import type { NodeAddress } from '../../wire/broker/kafka-transport.ts'
import { KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { addressOf } from '../cluster/nodes.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { AdminCallOptions } from './admin.ts'

/** What a round learnt of each item it was asked for. */
export type Answers<I, T> = ReadonlyMap<I, T | KafkaError>

/** Asking changes nothing, so an answer that was lost may be asked for again. */
export function mayReadAgain({ kind }: KafkaError): boolean {
  return kind === 'RETRIABLE' || kind === 'UNKNOWN'
}

/** What may have been done is not done again: whoever asked must hear that it is unknown. */
export function mayWriteAgain({ kind }: KafkaError): boolean {
  return kind === 'RETRIABLE'
}

/** Begins a call. */
export type StartRounds = (options: AdminCallOptions | undefined) => Rounds

/** One call under its deadline. */
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

  /** How long the next request may take. */
  get timeoutMs(): number {
    return Math.max(1, Math.min(this.#requestTimeoutMs, this.#endAt - this.#runtime.clock.monotonic()))
  }

  /** The last answer for each item, in the order of the items. Rejects only when the signal aborts. */
  async settle<I, T>(
    items: Iterable<I>,
    mayAskAgain: (error: KafkaError) => boolean,
    ask: (open: readonly I[], round: number) => Promise<Answers<I, T>>,
  ): Promise<Map<I, T | KafkaError>> {
    const answers = new Map<I, T | KafkaError>()
    let open = [...new Set(items)]
    for (let round = 1; open.length > 0; round++) {
      const heard = await answerAll(open, () => ask(open, round))
      for (const item of open) answers.set(item, heard.get(item) ?? unanswered)
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

  /** The answer to a question about nothing in particular. @throws KafkaError when there was none. */
  async one<T>(mayAskAgain: (error: KafkaError) => boolean, ask: () => Promise<T>): Promise<T> {
    const answers = await this.settle(['it'], mayAskAgain, async () => new Map([['it', { value: await ask() }]]))
    const answer = answers.get('it') ?? unanswered
    if (answer instanceof KafkaError) throw answer
    return answer.value
  }
}

const unanswered = new KafkaError('The answer leaves this one out.', 'FATAL', {
  hint: 'Please report this as a bug, with the version of the broker.',
})

/** What `ask` answers; when it fails as a whole, every item failed that way. */
async function answerAll<I, T>(items: readonly I[], ask: () => Promise<Answers<I, T>>): Promise<Answers<I, T>> {
  try {
    return await ask()
  } catch (error) {
    const failure = toKafkaError('The request', error)
    return new Map(items.map((item) => [item, failure]))
  }
}

/** Items by the node in charge of them. */
export class Placement<I> {
  readonly #byAddress = new Map<string, { readonly node: NodeAddress; readonly items: I[] }>()

  add(node: NodeAddress, item: I): void {
    const address = addressOf(node)
    const there = this.#byAddress.get(address)
    if (there === undefined) this.#byAddress.set(address, { node, items: [item] })
    else there.items.push(item)
  }

  /** One request to each node, all at once. */
  async ask<T>(
    send: (node: NodeAddress, items: readonly I[]) => Promise<Answers<I, T>>,
  ): Promise<Map<I, T | KafkaError>> {
    const asked = [...this.#byAddress.values()].map(({ node, items }) => answerAll(items, () => send(node, items)))
    return new Map((await Promise.all(asked)).flatMap((answers) => [...answers]))
  }
}
