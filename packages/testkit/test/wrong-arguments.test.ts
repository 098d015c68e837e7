import { ArgumentError, OptionsError } from '@waybill/core'
import {
  containerStateAssertions,
  createFailingHandler,
  createRecordingHandler,
  createSignal,
  createSlowHandler,
  eventually,
  leakCheck,
  testHandlers,
  waitUntilSettled,
} from '@waybill/testkit'
import { type HandlerTest } from '@waybill/testkit/internal'
import { describe, expect, test } from 'vitest'

/** Passes a value as a test in JavaScript may. */
const untyped = (value: unknown): never => value as never

describe('what is called wrongly fails at once, and says how it is meant', () => {
  test.each<[string, () => unknown, string]>([
    [
      'eventually() of a promise',
      () => eventually(untyped(Promise.resolve())),
      'eventually() takes a function that asserts, got an instance of Promise. Write eventually(() => …)',
    ],
    [
      'testHandlers() without a test',
      () => testHandlers(untyped(undefined)),
      'testHandlers() takes the test, got undefined.',
    ],
    [
      'testHandlers() with the options first',
      () =>
        testHandlers(
          untyped({ topics: { orders: 1 } }),
          untyped(async () => {}),
        ),
      'testHandlers() takes the test, got an object. Write testHandlers(async (',
    ],
    ['leakCheck() without a block', () => leakCheck(untyped(undefined)), 'leakCheck() takes the block to run'],
    ['a signal of nothing', () => createSignal(untyped(undefined)), "createSignal('order 7 is shipped')"],
    ['failures that are no number', () => createFailingHandler(untyped('2')), 'a number of 0 or more, got "2".'],
    ['failures below 0', () => createFailingHandler(-1), 'Infinity to fail always'],
    [
      'work of a failing handler that is none',
      () => createFailingHandler(2, untyped({ work: 3 })),
      'a function as `work`, got 3.',
    ],
    ['a handler that takes nothing', () => createSlowHandler(untyped(undefined)), 'createSlowHandler(2_000)'],
    [
      'work of a slow handler that is none',
      () => createSlowHandler(2, untyped({ work: 3 })),
      'a function as `work`, got 3.',
    ],
    [
      'a recording handler of a function',
      () => createRecordingHandler(untyped(async () => {})),
      'createRecordingHandler() takes options, got a function. Write createRecordingHandler({ work: shipOrder }).',
    ],
    [
      'a failing handler of a function',
      () =>
        createFailingHandler(
          0,
          untyped(async () => {}),
        ),
      'createFailingHandler() takes options, got a function. Write createFailingHandler(2, { work: shipOrder }).',
    ],
    [
      'a slow handler of a function',
      () =>
        createSlowHandler(
          1,
          untyped(async () => {}),
        ),
      'createSlowHandler() takes options, got a function. Write createSlowHandler(2_000, { work: shipOrder }).',
    ],
    [
      'waitUntilSettled() without a connector',
      () => waitUntilSettled(untyped(undefined), {}),
      'waitUntilSettled() takes a connector, got undefined.',
    ],
    [
      'waitUntilSettled() without clusters',
      () => waitUntilSettled(untyped({ audit() {}, listBindings() {} }), untyped(undefined)),
      'waitUntilSettled(connector, { default: kafka })',
    ],
    ['states of no connector', () => containerStateAssertions(untyped(undefined)), 'takes a connector, got undefined'],
    [
      'a state there is not',
      () => containerStateAssertions({ getState: () => 'RUNNING' }).reaches('orders', untyped('RUNING')),
      'Unknown container state RUNING. Did you mean RUNNING?',
    ],
  ])('%s', async (_what, call, problem) => {
    const calling = (async () => call())()
    await expect(calling).rejects.toThrow(ArgumentError)
    await expect(calling).rejects.toThrow(problem)
  })

  test('a wait that is no object is not taken for one without a count', async () => {
    await expect(createRecordingHandler().wait(untyped(2))).rejects.toThrow(OptionsError)
  })
})

describe('in a test of handlers', () => {
  test.each<[string, (test: HandlerTest) => Promise<unknown>, string]>([
    [
      'a text in place of records',
      ({ write }) => write('orders', untyped('o-1')),
      'write() takes a list of records, got "o-1".',
    ],
    [
      'no records',
      ({ write }) => write('orders', untyped(undefined)),
      'write() takes a list of records, got undefined.',
    ],
    [
      'a number in place of a record',
      ({ write }) => write('orders', ['o-1', untyped(2)]),
      'Record 1 of write() is neither a string nor an object with a value: it is 2.',
    ],
    [
      'an object in place of its text',
      ({ write }) => write('orders', [untyped({ value: { orderId: 'o-1' } })]),
      'Record 0 of write() must have a string or null as its value: it is an object.',
    ],
    ['a number as a key', ({ write }) => write('orders', [untyped({ key: 1, value: '' })]), 'as its key: it is 1.'],
    ['a topic without a name', async ({ tier }) => tier(untyped(undefined)), "tier('orders.retry-1')"],
    [
      'a count that is a text',
      ({ deadLetters }) => deadLetters('orders.DLT').hasCount(untyped('1')),
      'Write hasCount(2).',
    ],
    [
      'nothing to look for',
      ({ deadLetters }) => deadLetters('orders.DLT').contains(untyped(undefined)),
      'contains({ key:',
    ],
    [
      'a function in place of the options of a recording handler',
      async ({ recordingHandler }) => recordingHandler(untyped(async () => {})),
      'recordingHandler() takes options, got a function. Write recordingHandler({ work: shipOrder }).',
    ],
    [
      'a function in place of the options of a failing handler',
      async ({ failingHandler }) =>
        failingHandler(
          0,
          untyped(async () => {}),
        ),
      'failingHandler() takes options, got a function. Write failingHandler(2, { work: shipOrder }).',
    ],
    [
      'a function in place of the options of a slow handler',
      async ({ slowHandler }) =>
        slowHandler(
          1,
          untyped(async () => {}),
        ),
      'slowHandler() takes options, got a function. Write slowHandler(2_000, { work: shipOrder }).',
    ],
    [
      'a misspelt field to look for',
      ({ deadLetters }) => deadLetters('orders.DLT').contains(untyped({ valu: 'a' })),
      'contains(): valu is not a field; did you mean value?',
    ],
    [
      'a field that only dead letters have, in a tier',
      ({ tier }) => tier('orders.retry-1').contains(untyped({ dltReason: 'MANUAL' })),
      'contains(): dltReason is not a field; use one of key, value, headers,',
    ],
    [
      'a number in place of the options of a topic',
      async ({ sim }) => sim.createTopic('parcels', untyped(3)),
      'options must be an object, got 3; write { partitions: 3 }',
    ],
  ])('%s is refused in a sentence', async (_what, program, problem) => {
    const testing = testHandlers(program, { topics: { orders: 1 } })
    await expect(testing).rejects.toThrow(ArgumentError)
    await expect(testing).rejects.toThrow(problem)
  })

  test('a wait for the real world in virtual time names the way out', async () => {
    // Far longer than a busy machine takes to notice.
    let timer: NodeJS.Timeout | undefined
    const testing = testHandlers(() => new Promise((resolve) => void (timer = setTimeout(resolve, 60_000))))
    await expect(testing).rejects.toThrow("Set `time: 'SYSTEM'`")
    clearTimeout(timer)
  })
})
