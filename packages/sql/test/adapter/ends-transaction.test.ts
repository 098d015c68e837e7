import { describe, expect, test } from 'vitest'
import { endsTransaction } from '../../src/adapter/ends-transaction.ts'

describe('a statement that leaves PostgreSQL outside a transaction', () => {
  test.each([
    'COMMIT',
    ' rollback ',
    'end',
    'ABORT',
    'commit work',
    'ROLLBACK AND NO CHAIN',
    "prepare transaction 'one'",
    '/* done */ commit -- now',
    "insert into notes values ('it''s; here'); commit",
    "insert into notes values (E'it\\'s'); rollback",
  ])('is recognized: %s', (text) => {
    expect(endsTransaction(text)).toBe(true)
  })

  test.each([
    'rollback to savepoint one',
    'ROLLBACK WORK TO one',
    'COMMIT AND CHAIN',
    'rollback and chain',
    'select case when a then b end from things',
    "insert into notes values ('; commit')",
    "insert into notes values (E'it\\'s; commit')",
    'update "commit" set done = true',
    'do $body$ begin perform 1; end $body$',
    'select 1 -- ; commit',
    'prepare plan as select 1',
    'release savepoint one',
  ])('is not suspected: %s', (text) => {
    expect(endsTransaction(text)).toBe(false)
  })
})
