import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect } from 'vitest'

/** Fails each test of the file that leaves an unhandled rejection. */
export function watchRejections(): void {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  beforeEach(() => {
    unhandled.length = 0
    process.on('unhandledRejection', note)
  })
  afterEach(async () => {
    await setImmediate()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
}
