import { assertNoError, type KafkaError, ofCluster, toKafkaError } from '../cluster/kafka-error.ts'
import { retryWaitMs } from '../cluster/retry-backoff.ts'
import type { ProducerDeps } from './coordinator-call.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** Observes a {@link ProducerIdSource}. */
export interface ProducerIdNews {
  /** Called when an identity is available. */
  arrived(): void
  /** Called when no identity can be obtained. */
  refused(error: KafkaError): void
  /** Returns true while records wait for an identity. */
  isWanted(): boolean
}

/** The producer options that bound the request. */
export interface ProducerIdBounds {
  readonly requestTimeoutMs: number
  readonly retryBackoffMs: number
}

/** Obtains a producer id from any node on first use, and another when its epochs are used up. */
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

  /** The last error, while there is no identity. */
  get trouble(): KafkaError | undefined {
    return this.#trouble
  }

  /** Returns the identity; null while it is being requested. */
  get(): ProducerIdentity | null {
    if (this.#identity === null && !this.#isAsking) {
      this.#isAsking = true
      void this.#ask()
    }
    return this.#identity
  }

  /** Drops an id whose epochs are used up. Partitions with epochs left continue with theirs. */
  spent({ producerId }: ProducerIdentity): void {
    if (this.#identity?.producerId === producerId) this.#identity = null
  }

  /** Requests an id. Never rejects. A lost response only wastes an id. */
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
        // Any node may assign an id, and nothing can be written without one.
        const error = ofCluster(toKafkaError('Cannot get a producer id', thrown))
        this.#trouble = error
        if (error.kind === 'FATAL') {
          this.#news.refused(error)
          break
        }
        // Aborted only when the producer ends.
        const waitMs = retryWaitMs(failures, runtime.random, retryBackoffMs)
        await runtime.timers.sleep(waitMs, this.#signal).catch(() => {})
      }
    }
    this.#isAsking = false
  }
}
