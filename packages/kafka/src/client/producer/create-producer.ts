import type { ProducerDeps } from './coordinator-call.ts'
import type { Producer } from './producer.ts'
import { ProducerIdSource } from './producer-id-source.ts'
import { type ProducerOptions, type ProducerPreset, resolveProducerOptions } from './producer-options.ts'
import { closedError } from './send-error.ts'
import { SendLoop } from './send-loop.ts'

/**
 * Makes an idempotent {@link Producer}: each record is in the log at most once and in the order of `send` for its
 * partition, through lost answers, leaders that move and brokers that restart. Connects with the first record.
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
    // Records behind it do not depend on it.
    failed: () => {},
  })
  const ids = new ProducerIdSource(deps, resolved, loop.signal, {
    arrived: () => loop.wake(),
    refused: (error) => loop.giveBack(error),
    isWanted: () => !loop.isIdle,
  })
  let closing: Promise<void> | undefined

  const close = async (): Promise<void> => {
    // Bounded: each record has its result when its delivery timeout is over.
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
