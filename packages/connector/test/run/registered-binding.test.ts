import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { RegisteredBinding } from '../../src/run/registered-binding.ts'
import { resolved } from '../options/test-binding.ts'

function noRun(): never {
  throw new Error('This test runs nothing.')
}

test('a start lasts from its first part to its last, even if a concurrent one fails', () => {
  const runtime = createVirtualRuntime(1)
  return runtime.run(async () => {
    const binding = new RegisteredBinding(resolved(), noRun, runtime)
    const began = runtime.clock.monotonic()
    const short = binding.duringStart(async () => {
      await runtime.timers.sleep(10)
      throw new Error('refused')
    })
    const long = binding.duringStart(() => runtime.timers.sleep(20))
    await expect(short).rejects.toThrow('refused')
    expect(binding.startingSince).toBe(began)
    await long
    expect(binding.startingSince).toBeUndefined()
  })
})
