import { createEnvelope } from '@waybill/core'
import { createVirtualRuntime } from '@waybill/sim'
import { createSimSqlServer } from '@waybill/sim/internal'
import { expect, test } from 'vitest'
import { Ownership } from './ownership.ts'
import { drawProgram } from './program.ts'

test('a lease that a jump of the clock has ended is still believed, because its next renewal restores it', () => {
  const server = createSimSqlServer({ runtime: createVirtualRuntime(1) })
  const ownership = new Ownership({ ...drawProgram(1), mode: 'keyed' }, () => server)
  const event = createEnvelope({ eventId: 'one', eventType: 'order.placed', aggregateId: 'key-0', payloadJson: '{}' })
  const [row] = server.table.insert([event], { lease: null, availableAt: null })
  if (row === undefined) throw new Error('A row is missing.')
  ownership.learn('node-1', 'process')
  const [lease] = server.table.leases.take('node-1', [row.shard], 1_000)
  const holder = { process: 'process', version: lease?.version }
  expect(ownership.holderOf(row)).toMatchObject(holder)
  server.jump(5_000)
  ownership.doubt(0)
  expect(ownership.holderOf(row)).toBeUndefined()
  expect(ownership.believedHolderOf(row, 0)).toMatchObject(holder)
  // A node can know that it has lost the lease.
  expect(ownership.believedHolderOf(row, 3_600_000)).toBeUndefined()
})
