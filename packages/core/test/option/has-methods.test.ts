import { expect, test } from 'vitest'
import { hasMethods } from '../../src/option/has-methods.ts'

class Service {
  start(): void {}
}

test.each([
  ['a method of its class', new Service(), ['start'], true],
  ['a function among its properties', { start: () => {} }, ['start'], true],
  ['a function with methods', Object.assign(() => {}, { begin: () => {} }), ['begin'], true],
  ['a method named by a symbol', { [Symbol.dispose]: () => {} }, [Symbol.dispose], true],
  ['one of two methods', { start: () => {} }, ['start', 'stop'], false],
  ['a property that is no function', { start: true }, ['start'], false],
  ['a text, although texts have methods', 'start', ['at'], false],
  ['null', null, ['start'], false],
  ['nothing', undefined, ['start'], false],
])('tells whether a value has methods: %s', (_, value, names, expected) => {
  expect(hasMethods(value, ...names)).toBe(expected)
})
