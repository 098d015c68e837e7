import { expect } from 'vitest'
import type { AdminWorld } from '../support/admin-world.ts'

/** Writes records that become dead letters, waits until they are shown, and returns their ids, newest first. */
export async function buryLetters(
  { connector, write, ask, eventually, runtime }: AdminWorld,
  values: readonly string[],
): Promise<readonly string[]> {
  await connector.start()
  await write('orders', values)
  await eventually(async () => {
    const { body } = await ask('GET', '/eventbus/dead-letters')
    expect(body.total).toEqual({ count: String(values.length), exact: true })
    await runtime.timers.sleep(500)
  })
  // The limit of requests recovers.
  await runtime.timers.sleep(5_000)
  const { body } = await ask('GET', '/eventbus/dead-letters')
  return body.items.map(({ id }: { readonly id: string }) => id)
}
