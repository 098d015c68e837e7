import { type CircuitBreaker, createCircuitBreaker, type Runtime } from '@waybill/core'
import type { Redis } from 'ioredis'

/**
 * Commands whose failure costs the caller nothing but their answer. Five failures in a row open a breaker for 30 seconds:
 * a Redis that is down must not delay every request.
 */
export class SoftRedis {
  readonly #redis: Redis
  readonly #errors: string
  readonly #runtime: Runtime
  readonly #breaker: CircuitBreaker

  /** @param errors the metric that counts failed commands */
  constructor(redis: Redis, errors: string, runtime: Runtime) {
    this.#redis = redis
    this.#errors = errors
    this.#runtime = runtime
    const opening = {
      enabled: true,
      failureRateThreshold: 100,
      slowCallRateThreshold: 100,
      slidingWindowSize: 5,
      minimumNumberOfCalls: 5,
      waitDurationInOpenStateMs: 30_000,
      permittedNumberOfCallsInHalfOpenState: 1,
    }
    this.#breaker = createCircuitBreaker(errors, opening, runtime)
  }

  /** Returns null if the command fails, or is not sent because the breaker is open. */
  async try<T>(command: string, send: (redis: Redis) => Promise<T>): Promise<T | null> {
    const { clock, logger, metrics } = this.#runtime
    using permit = this.#breaker.tryAcquire()
    if (permit === undefined) return null
    const begun = clock.monotonic()
    try {
      const answer = await send(this.#redis)
      permit.succeed(clock.monotonic() - begun)
      return answer
    } catch (err) {
      permit.fail(clock.monotonic() - begun)
      metrics.counter(this.#errors, { command }, 1)
      logger.debug({ command, err }, 'Redis command failed')
      return null
    }
  }
}
