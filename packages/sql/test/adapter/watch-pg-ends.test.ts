import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { watchPgEnds } from '../../src/adapter/watch-pg-ends.ts'

/** Whether a transaction may have ended on a client that showed these answers. */
function afterAnswers(...texts: readonly unknown[]): boolean {
  const connection = new EventEmitter()
  const watch = watchPgEnds({ connection })
  for (const text of texts) connection.emit('commandComplete', { text })
  watch.stop()
  expect(connection.listenerCount('commandComplete')).toBe(0)
  return watch.mayHaveEnded()
}

test.each(['COMMIT', 'ROLLBACK', 'BEGIN', 'START TRANSACTION', 'PREPARE TRANSACTION'])(
  'a transaction may have ended after %s',
  (text) => {
    expect(afterAnswers('INSERT 0 1', text)).toBe(true)
  },
)

test.each(['INSERT 0 1', 'SELECT 1', 'SAVEPOINT', 'RELEASE', 'LOCK TABLE', 'PREPARE', 'COMMENT'])(
  'a transaction is still open after %s',
  (text) => {
    expect(afterAnswers(text)).toBe(false)
  },
)

test('what shows no answers, or none that can be read, proves nothing', () => {
  expect(watchPgEnds({}).mayHaveEnded()).toBe(true)
  expect(watchPgEnds({ connection: {} }).mayHaveEnded()).toBe(true)
  expect(afterAnswers()).toBe(true)
  expect(afterAnswers('INSERT 0 1', undefined)).toBe(true)
})
