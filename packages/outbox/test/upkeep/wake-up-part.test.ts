import { createMemoryLogger } from '@waybill/core'
import type { WakeUp } from '@waybill/outbox'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { WakeUpPart } from '../../src/upkeep/wake-up-part.ts'

function setup() {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  const said: number[] = []
  const listeners: { wake: () => void; lost: (error: unknown) => void; isClosed: boolean }[] = []
  let refused = 0
  const wakeUp: WakeUp = {
    async announce() {
      said.push(runtime.clock.monotonic())
      for (const { wake, isClosed } of listeners) if (!isClosed) wake()
    },
    async listen(wake, lost) {
      if (refused-- > 0) throw new Error('no connection')
      const listener = { wake, lost, isClosed: false }
      listeners.push(listener)
      return {
        [Symbol.asyncDispose]: async () => {
          listener.isClosed = true
        },
      }
    },
  }
  let wakes = 0
  const part = new WakeUpPart({ wakeUp, runtime, wake: () => void wakes++ })
  return {
    runtime,
    logger,
    part,
    said,
    listeners,
    wakes: () => wakes,
    refuse: (times: number) => {
      refused = times
    },
  }
}

describe('a wake-up', () => {
  test('says the first commit at once, and however many more follow, one word in 20 ms', async () => {
    const { part, runtime, said } = setup()
    for (let index = 0; index < 100; index++) {
      part.announce()
      await runtime.advance(1)
    }
    await runtime.advance(1_000)
    expect(said[0]).toBe(0)
    expect(said).toHaveLength(6)
    expect(said.every((at, index) => index === 0 || at - (said[index - 1] as number) >= 20)).toBe(true)
    await runtime.run(() => part.stop())
  })

  test('hears others, and looks once by itself when it begins to listen', async () => {
    const { part, runtime, wakes, listeners } = setup()
    part.start()
    await runtime.advance(10)
    expect(wakes()).toBe(1)
    listeners[0]?.wake()
    expect(wakes()).toBe(2)
    await runtime.run(() => part.stop())
    expect(listeners[0]?.isClosed).toBe(true)
  })

  test('listens again after its connection was lost, and when there is none at first', async () => {
    const { part, runtime, listeners, refuse, logger } = setup()
    refuse(2)
    part.start()
    await runtime.advance(10_000)
    expect(listeners).toHaveLength(1)
    listeners[0]?.lost(new Error('reset'))
    await runtime.advance(10_000)
    expect(listeners).toHaveLength(2)
    expect(listeners[0]?.isClosed).toBe(true)
    expect(logger.lines.filter(({ level }) => level === 'WARN')).toHaveLength(3)
    await runtime.run(() => part.stop())
  })
})
