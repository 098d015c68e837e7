import type { Clock } from '@waybill/core'
import { because } from './because.ts'
import type { BrokerSocket } from './broker-socket.ts'
import { TransportError } from './kafka-transport.ts'
import { logIn } from './sasl-login.ts'
import type { SaslOptions } from './transport-options.ts'

/**
 * A login that may run out (KIP-368), renewed when a request comes after four fifths of its time. A broker looks at
 * the time only when a request arrives, so no timer is needed; and it takes nothing else during a login, so requests
 * that come meanwhile wait.
 */
export class BrokerSession {
  readonly #socket: BrokerSocket
  readonly #sasl: SaslOptions
  readonly #clock: Clock
  #renewAt = Number.POSITIVE_INFINITY
  #renewing: Promise<void> | undefined

  constructor(socket: BrokerSocket, sasl: SaslOptions, clock: Clock) {
    this.#socket = socket
    this.#sasl = sasl
    this.#clock = clock
  }

  /** Logs in. */
  async begin(): Promise<void> {
    const startedAt = this.#clock.monotonic()
    const lifetimeMs = await logIn(this.#socket, this.#sasl)
    this.#renewAt = lifetimeMs > 0 ? startedAt + lifetimeMs * 0.8 : Number.POSITIVE_INFINITY
  }

  /**
   * Undefined while the login lasts, so that a request is written at once; else what a request must wait for. That
   * rejects with a TransportError NOT_SENT, and the connection ends.
   */
  whenValid(): Promise<void> | undefined {
    if (this.#renewing === undefined && this.#clock.monotonic() >= this.#renewAt) {
      this.#renewing = this.#renew().finally(() => {
        this.#renewing = undefined
      })
    }
    return this.#renewing
  }

  async #renew(): Promise<void> {
    try {
      await this.#socket.orEnded(this.begin())
    } catch (error) {
      const failure =
        error instanceof TransportError && error.isFinal
          ? error
          : new TransportError(`The login to ${this.#socket.address} was not renewed: ${because(error)}.`, 'NOT_SENT', {
              cause: error,
            })
      this.#socket.fail(failure)
      throw failure
    }
  }
}
