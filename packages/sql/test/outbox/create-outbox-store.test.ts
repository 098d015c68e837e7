import { DatabaseSync } from 'node:sqlite'
import { ArgumentError, createEnvelope, type JsonCodec, OptionsError } from '@waybill/core'
import { defaultJsonCodec } from '@waybill/core/internal'
import { createOutboxStore, fromSqlite, migrate } from '@waybill/sql'
import { describe, expect, onTestFinished, test } from 'vitest'

function openDatabase() {
  const handle = new DatabaseSync(':memory:')
  onTestFinished(() => handle.close())
  return { handle, database: fromSqlite(handle) }
}

describe('an outbox store', () => {
  test.each([
    [{ table: 'two words' }, ArgumentError],
    [{ table: '' }, OptionsError],
    [{ codec: {} }, OptionsError],
    [{ tabel: 'outbox' }, OptionsError],
  ])('refuses the options %j', (options, error) => {
    const { database } = openDatabase()
    expect(() => createOutboxStore(database, options as object)).toThrow(error)
  })

  test('writes and reads headers by the codec it is given', async () => {
    const { handle, database } = openDatabase()
    await migrate(database, { tables: { outbox: 'own_name' } })
    const codec: JsonCodec = {
      toJson: (entries) => JSON.stringify({ wrapped: defaultJsonCodec.toJson(entries) }),
      parseObject: (json) => defaultJsonCodec.parseObject((JSON.parse(json as string) as { wrapped: string }).wrapped),
    }
    const store = createOutboxStore(database, { table: 'own_name', codec })
    const event = createEnvelope({ eventType: 'paid', payloadJson: '{}', headers: { trace: 'abc' } })
    await database.transaction((tx) =>
      store.insertNew(database.enlist(tx).currentConnection(), [event], { lease: null, availableAt: null }),
    )
    expect(handle.prepare('select headers from own_name').get()).toEqual({
      headers: '{"wrapped":"{\\"trace\\":\\"abc\\"}"}',
    })
    const [row] = await database.connection((connection) =>
      store.pollPending(connection, {
        status: 'NEW',
        limit: 1,
        maxBytes: 1_000_000,
        skipRecentMs: 0,
        floor: null,
        shards: null,
      }),
    )
    expect(row?.event).toEqual(event)
  })
})
