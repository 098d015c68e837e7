import { createMemoryLogger, OptionsError } from '@waybill/core'
import { expect, test } from 'vitest'

test('keeps lines of the logger and its children, in order', () => {
  const logger = createMemoryLogger()
  logger.info({ a: 1 }, 'one')
  logger.child({ binding: 'orders' }).warn({ b: 2 }, 'two')
  expect(logger.lines).toEqual([
    { level: 'INFO', fields: { a: 1 }, text: 'one' },
    { level: 'WARN', fields: { binding: 'orders', b: 2 }, text: 'two' },
  ])
})

test('a line stays as it was logged when the caller changes its object', () => {
  const logger = createMemoryLogger()
  const fields = { attempt: 1 }
  logger.info(fields, 'tried')
  fields.attempt = 2
  expect(logger.lines[0]?.fields).toEqual({ attempt: 1 })
})

test('drops the oldest lines beyond its bound, and counts them', () => {
  const logger = createMemoryLogger({ maxLines: 2 })
  for (const text of ['one', 'two', 'three']) logger.info({}, text)
  expect(logger.lines.map(({ text }) => text)).toEqual(['two', 'three'])
  expect(logger.dropped).toBe(1)
})

test('refuses a bound that keeps nothing', () => {
  expect(() => createMemoryLogger({ maxLines: 0 })).toThrow(OptionsError)
})
