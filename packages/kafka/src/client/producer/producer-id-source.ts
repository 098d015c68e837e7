import { assertNoError, type KafkaError, toKafkaError } from '../cluster/kafka-error.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** What a {@link ProducerIdSource} tells its owner. */
export interface ProducerIdNews {
  /** There is an identity now. */
  arrived(): void
  /** There will be none. */
  refused(error: KafkaError): void
  /** Somebody still waits for it. */
  isWanted(): boolean
}

/** Of a producer's options. */
export interface ProducerIdBounds {
  readonly requestTimeoutMs: number
  readonly retryBackoffMs: number
}

/** Gets a producer id from any node when it is first needed, and another when one is used up. */
export class ProducerIdSource {
  readonly #deps: ProducerDeps
  readonly #bounds: ProducerIdBounds
  readonly #signal: AbortSignal
  readonly #news: ProducerIdNews
  #identity: ProducerIdentity | null = null
  #isAsking = false
  #trouble: KafkaError | undefined

  constructor(deps: ProducerDeps, bounds: ProducerIdBounds, signal: AbortSignal, news: ProducerIdNews) {
    this.#deps = deps
    this.#bounds = bounds
    this.#signal = signal
    this.#news = news
  }

  /** Why there is none. */
  get trouble(): KafkaError | undefined {
    return this.#trouble
  }

  /** The identity, or null while it is asked for. */
  get(): ProducerIdentity | null {
    if (this.#identity === null && !this.#isAsking) {
      this.#isAsking = true
      void this.#ask()
    }
    return this.#identity
  }

  /** Its epochs are used up; partitions that have them left go on with theirs. */
  spent({ producerId }: ProducerIdentity): void {
    if (this.#identity?.producerId === producerId) this.#identity = null
  }

  /** Rejects never. An answer that is lost costs the cluster an id that nobody uses. */
  async #ask(): Promise<void> {
    const { cluster, runtime } = this.#deps
    const { requestTimeoutMs, retryBackoffMs } = this.#bounds
    for (let failures = 1; this.#news.isWanted() && !this.#signal.aborted; failures++) {
      try {
        const request = { transactionalId: null, transactionTimeoutMs: 0, producerId: -1n, producerEpoch: -1 }
        const answer = await cluster.anyNode('InitProducerId', request, requestTimeoutMs)
        assertNoError('Cannot get a producer id', answer.errorCode)
        this.#identity = { producerId: answer.producerId, epoch: answer.producerEpoch }
        this.#trouble = undefined
        this.#isAsking = false
        this.#news.arrived()
        return
      } catch (thrown) {
        const error = toKafkaError('Cannot get a producer id', thrown)
        this.#trouble = error
        if (error.kind === 'FATAL') {
          this.#news.refused(error)
          break
        }
        // Aborted by the end of the producer alone.
        const waitMs = retryWaitMs(failures, runtime.random, retryBackoffMs)
        await runtime.timers.sleep(waitMs, this.#signal).catch(() => {})
      }
    }
    this.#isAsking = false
  }
}
