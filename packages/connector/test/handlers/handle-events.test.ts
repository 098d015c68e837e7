import { OptionsError } from '@waybill/core'
import { orderEvents } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { handleEvents, preparerOf } from '../../src/handlers/handle-events.ts'
import { createInvocation } from '../../src/handlers/invocation.ts'
import { contextOf, placedRecord } from './order-events.ts'

const events = orderEvents()
const ignore = (): void => {}

/** Calls as JavaScript would, without types. */
const untyped = handleEvents as (...given: unknown[]) => unknown

describe('handleEvents', () => {
  test('refuses an event that the catalog does not have and names the nearest one', () => {
    expect(() => untyped(events, { 'order.plcaed': ignore })).toThrow(OptionsError)
    expect(() => untyped(events, { 'order.plcaed': ignore })).toThrow(/did you mean "?order\.placed/)
  })

  test.for([
    ['a handler that is no function', { 'order.placed': 'ignore' }, {}],
    ['no handler at all', {}, {}],
    ['an inbox that is none', { 'order.placed': ignore }, { inbox: {} }],
    ['an option that does not exist', { 'order.placed': ignore }, { inbx: {} }],
  ] as const)('refuses %s', ([, handlers, options]) => {
    expect(() => untyped(events, handlers, options)).toThrow(OptionsError)
  })

  test('makes what the engine recognises, and nothing else is taken for it', () => {
    expect(preparerOf(handleEvents(events, { 'order.placed': ignore }))).toBeDefined()
    for (const other of [{ handlers: {} }, ignore, null, undefined, 'text', 7])
      expect(preparerOf(other)).toBeUndefined()
  })

  test('calls a handler on the object it was given in', async () => {
    const record = await placedRecord(events)
    const calledOn: object[] = []
    const handlers = {
      'order.placed'(this: object) {
        calledOn.push(this)
      },
    }
    const prepared = await createInvocation({ handler: handleEvents(events, handlers) })(record, 'SOURCE', 'g')
    if (prepared.kind === 'RUN') await prepared.run(contextOf(record))
    expect(calledOn[0]).toBe(handlers)
  })
})
