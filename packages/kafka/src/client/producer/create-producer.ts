import type { ProducerDeps } from './coordinator-call.ts'
import type { Producer } from './producer.ts'
import { ProducerIdSource } from './producer-id-source.ts'
import { type ProducerOptions, type ProducerPreset, resolveProducerOptions } from './producer-options.ts'
import { closedError } from './send-error.ts'
import { SendLoop } from './send-loop.ts'

/**
 * Creates an idempotent {@link Producer}. Each record is in the log at most once, and in the order of `send` within its
 * partition, despite lost responses, leader changes and broker restarts. It connects with the first record.
 */
export function createProducer(
  deps: ProducerDeps,
  preset: ProducerPreset = 'EVENT',
  options: ProducerOptions = {},
): Producer {
  const resolved = resolveProducerOptions(preset, options)
  const loop: SendLoop = new SendLoop(deps, resolved, {
    transactionalId: null,
    raisesEpoch: true,
    identity: () => ids.get(),
    spent: (identity) => ids.spent(identity),
    get trouble() {
      return ids.trouble
    },
    admits: () => true,
    // Later records do not depend on it.
    failed: () => {},
  })
  const ids = new ProducerIdSource(deps, resolved, loop.signal, {
    arrived: () => loop.wake(),
    refused: (error) => loop.failQueued(error),
    isWanted: () => !loop.isIdle,
  })
  let closing: Promise<void> | undefined

  const close = async (): Promise<void> => {
    // Bounded by the delivery timeout of each record.
    await loop.flush()
    loop.stop(closedError())
  }

  return {
    send: (record, sendOptions) =>
      closing === undefined ? loop.send(record, sendOptions) : Promise.reject(closedError()),
    flush: () => loop.flush(),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}
