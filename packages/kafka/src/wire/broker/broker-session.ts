import type { Clock } from '@waybill/core'
import type { BrokerSocket } from './broker-socket.ts'
import { TransportError } from './kafka-transport.ts'
import { reasonOf } from './reason-of.ts'
import { logIn } from './sasl-login.ts'
import type { SaslOptions } from './transport-options.ts'

/**
 * A login that may expire (KIP-368), renewed by the first request after four fifths of its lifetime. A broker checks
 * the lifetime only when a request arrives, so no timer is needed. It accepts nothing else during a login, so other
 * requests wait.
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
   * Returns undefined while the login is valid, so that a request is written at once; otherwise the renewal, which a
   * request must await. A failed renewal rejects with a TransportError NOT_SENT and closes the connection.
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
          : new TransportError(
              `Could not renew the login to ${this.#socket.address}: ${reasonOf(error)}.`,
              'NOT_SENT',
              {
                cause: error,
              },
            )
      this.#socket.fail(failure)
      throw failure
    }
  }
}
