import { createVirtualRuntime } from '@waybill/sim'
import { createSimSqlServer, type SimDatabase } from '@waybill/sim/internal'
import type { NodeUnderTest, OutboxStoreHarness } from '@waybill/testkit/conformance'

/** Returns a harness of the simulated database in virtual time. */
export function simSqlHarness(seed: number): OutboxStoreHarness {
  return {
    name: `the simulated database in virtual time (seed ${seed})`,
    capabilities: { ROW_LOCKS: { absent: 'its transactions only insert' }, OPEN_NUMBERS: true },
    run: (test) => {
      const runtime = createVirtualRuntime(seed)
      const server = createSimSqlServer({ runtime })
      const node = (name: string): NodeUnderTest => nodeOf(server.database({ name, receive: (work) => work }))
      return runtime.run(() =>
        test({
          store: server.store,
          nodes: [node('one'), node('other')],
          runtime,
          async spoil(eventId) {
            const row = server.table.find(eventId)
            if (row !== undefined) row.isBroken = true
          },
          async reuseNumber(eventId, byEventId) {
            const { rows } = server.table
            const at = rows.findIndex(({ event }) => event.eventId === eventId)
            const row = rows[at]
            if (row !== undefined) rows[at] = { ...row, event: { ...row.event, eventId: byEventId } }
          },
        }),
      )
    },
  }
}

function nodeOf(database: SimDatabase): NodeUnderTest {
  return {
    connection: (use) => database.connection(use),
    transaction: (work) => database.transaction((tx) => work(tx.currentConnection())),
  }
}
