import { createMemoryLogger } from '@waybill/core'
import { createMemoryOperationStore } from '@waybill/core/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { expect, test } from 'vitest'
import { createOperations } from '../../src/operations/create-operations.ts'
import { OperationUpkeep } from '../../src/operations/operation-upkeep.ts'

const hourMs = 3_600_000
const operator = { by: 'ana' }

test('operations that ended are deleted after their time, and plans that expired are cancelled', async () => {
  const runtime = createVirtualRuntime(1)
  await runtime.run(async () => {
    const store = createMemoryOperationStore({ runtime })
    const deadEvents = { query: async () => [], replayAll: async () => 0, count: async () => 0 }
    const operations = createOperations({
      outboxes: { orders: { deadEvents } },
      store,
      keepMs: 48 * hourMs,
      administration: { permits: () => true, auditLog: { write: () => {} } },
      runtime,
    })
    await operations.start()
    const request = { type: 'OUTBOX_REPLAY', outbox: 'orders' } as const
    const done = await operations.create(request, operator)
    const planned = await operations.create(request, operator, { dryRun: true })
    await runtime.timers.sleep(hourMs)
    expect((await operations.get(done.id))?.state).toBe('DONE')
    expect((await operations.get(planned.id))?.state).toBe('PLANNED')
    await runtime.timers.sleep(25 * hourMs)
    expect((await operations.get(planned.id))?.state).toBe('CANCELLED')
    expect(await operations.get(done.id)).toBeDefined()
    await runtime.timers.sleep(25 * hourMs)
    expect(await operations.get(done.id)).toBeUndefined()
    expect(await operations.get(planned.id)).toBeDefined()
    await operations.stop()
  })
})

test('an upkeep deletes all that is old, batch after batch, and tries again after a failure', async () => {
  const logger = createMemoryLogger()
  const runtime = createVirtualRuntime(1, { logger })
  await runtime.run(async () => {
    const calls: number[] = []
    const left = [200, 200, 7, 'away', 3] as const
    const purge = async (keepMs: number): Promise<number> => {
      calls.push(keepMs)
      const now = left[calls.length - 1] ?? 0
      if (now === 'away') throw new Error('no connection')
      return now
    }
    const upkeep = new OperationUpkeep({ purge }, 5, runtime)
    upkeep.start()
    await runtime.timers.sleep(1_000)
    expect(calls).toEqual([5, 5, 5])
    await runtime.timers.sleep(hourMs)
    expect(logger.lines.map(({ text }) => text)).toEqual(['Old operations not deleted, retrying'])
    await runtime.timers.sleep(hourMs)
    expect(calls).toHaveLength(5)
    await upkeep.close()
    await runtime.timers.sleep(3 * hourMs)
    expect(calls).toHaveLength(5)
  })
})
