import { expect } from 'vitest'
import type { AdminWorld } from './admin-world.ts'

/** Writes records to `orders`, and waits until they are dead letters of `shipping`. */
export async function bury(
  { connector, write, ask, eventually }: AdminWorld,
  values: readonly string[],
): Promise<void> {
  await connector.start()
  await write('orders', values)
  await eventually(async () => {
    const { body } = await ask('GET', '/eventbus/bindings/shipping/dlt/stats', {
      headers: { 'cache-control': 'no-cache' },
    })
    expect(body.count).toBe(values.length)
  })
}
