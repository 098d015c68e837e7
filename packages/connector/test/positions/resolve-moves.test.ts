import { ArgumentError } from '@waybill/core'
import type { Admin } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { resolveMoves } from '../../src/positions/resolve-moves.ts'
import { connectorWorld } from '../support/connector-world.ts'

const partition = { topic: 'orders', partition: 0 }

test('a time after the last record resolves to the end of the log, and a record written meanwhile is not skipped', () =>
  connectorWorld(async (world) => {
    world.sim.createTopic('orders')
    await world.write('orders', ['early'])
    const { admin } = world.client
    const timestampMs = world.runtime.clock.now() + 1_000
    /** A record is written after each answer. */
    const listOffsets: Admin['listOffsets'] = async (...given) => {
      const offsets = await admin.listOffsets(...given)
      await world.runtime.timers.sleep(2_000)
      await world.write('orders', ['late'])
      return offsets
    }
    const command = { type: 'SEEK', seek: { to: { timestampMs }, tier: 0 } } as const
    const moves = await resolveMoves({ ...admin, listOffsets }, 'orders', [partition], command, 100)
    expect(moves).toEqual([{ partition: 0, move: { type: 'SEEK', to: 1n } }])
  }))

test.each([
  ['no partition', []],
  ['a partition that does not exist', [0, 7]],
  ['a partition twice', [0, 0]],
])('a seek of %s is refused', (_, partitions) =>
  connectorWorld(async ({ client }) => {
    const command = { type: 'SEEK', seek: { to: 'EARLIEST', partitions, tier: 0 } } as const
    await expect(resolveMoves(client.admin, 'orders', [partition], command, 100)).rejects.toThrow(ArgumentError)
  }),
)
