import { createTextLogger, type LogFields, OptionsError } from '@waybill/core'
import { formatLogLine, type LogLevel, withContextFields, withLogContext } from '@waybill/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const record = {
  bindingName: 'orders',
  topic: 'orders.events',
  partition: 3,
  offset: '14209',
  consumerGroup: 'order-group',
  consumerInstance: 'host-0',
}

describe('a line of text', () => {
  test.each<[string, LogLevel, LogFields, string, string]>([
    [
      'has the shape of S0-178',
      'INFO',
      record,
      'Processing record',
      'INFO [orders|orders.events|3|14209|order-group|host-0] Processing record',
    ],
    [
      'keeps the places of what is unknown',
      'WARN',
      { bindingName: 'orders', partition: 0 },
      'Paused',
      'WARN [orders|-|0|-|-|-] Paused',
    ],
    ['has no brackets when nothing is known', 'ERROR', {}, 'No broker', 'ERROR No broker'],
    [
      'leaves out tier 0',
      'INFO',
      { ...record, retryTier: 0 },
      'Done',
      'INFO [orders|orders.events|3|14209|order-group|host-0] Done',
    ],
    [
      'names a later tier',
      'INFO',
      { ...record, retryTier: 2 },
      'Done',
      'INFO [orders|orders.events|3|14209|order-group|host-0] Done retryTier=2',
    ],
    [
      'appends other fields, quoted where they need it',
      'INFO',
      { attempt: 2, reason: 'not found', empty: '', none: null },
      'Retry',
      'INFO Retry attempt=2 reason="not found" empty="" none=null',
    ],
    ['leaves out what is undefined', 'INFO', { topic: undefined, attempt: undefined }, 'Retry', 'INFO Retry'],
    [
      'shows an error by name and text',
      'ERROR',
      { err: new TypeError('x is null') },
      'Failed',
      'ERROR Failed err="TypeError: x is null"',
    ],
    [
      'shows that there is an object, never what is in it',
      'INFO',
      { options: { password: 'hunter2' }, list: [{ password: 'hunter2' }], call: () => 'hunter2' },
      'Made',
      'INFO Made options={…} list=[…] call=function',
    ],
    [
      'shows a short list of texts and numbers, quoted where they need it',
      'INFO',
      { pausedBy: ['OPERATOR', 'not found', 'a,b', ''], shards: [0, 7n], none: [] },
      'Paused',
      'INFO Paused pausedBy=[OPERATOR,"not found","a,b",""] shards=[0,7] none=[]',
    ],
    [
      'shows of a long list only that there is one',
      'INFO',
      { eight: [1, 2, 3, 4, 5, 6, 7, 8], nine: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
      'Took',
      'INFO Took eight=[1,2,3,4,5,6,7,8] nine=[…]',
    ],
    ['shows a bigint', 'INFO', { lag: 12n }, 'Lag', 'INFO Lag lag=12'],
    ['keeps a forged bracket inside quotes', 'INFO', { topic: 'a|b] INFO' }, 'x', 'INFO [-|"a|b] INFO"|-|-|-|-] x'],
    [
      'escapes control characters',
      'INFO',
      { name: 'a\tb' },
      'one\nERROR two\u001b[2J',
      'INFO one\\u000aERROR two\\u001b[2J name="a\\tb"',
    ],
  ])('%s', (_, level, fields, text, expected) => {
    expect(formatLogLine(level, fields, text)).toBe(expected)
  })

  test('is one line whatever is logged', () => {
    const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.anything())
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), anything, { maxKeys: 3 }),
        fc.string({ unit: 'binary' }),
        (fields, text) => {
          expect(formatLogLine('INFO', fields, text)).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
        },
      ),
    )
  })
})

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const withGetter = (): object => ({
  tries: 1,
  get secret(): never {
    throw new Error('no')
  },
})
const listWithGetter = (): object => Object.defineProperty(['a'], 0, { get: () => Object.keys(revoked()) })

describe('a text logger', () => {
  test.each([
    [undefined, ['INFO', 'WARN', 'ERROR']],
    ['DEBUG', ['DEBUG', 'INFO', 'WARN', 'ERROR']],
    ['ERROR', ['ERROR']],
  ] as const)('at level %s writes %j', (level, expected) => {
    const lines: string[] = []
    const logger = createTextLogger({ write: (line) => lines.push(line), ...(level === undefined ? {} : { level }) })
    logger.debug({}, 'x')
    logger.info({}, 'x')
    logger.warn({}, 'x')
    logger.error({}, 'x')
    expect(lines).toEqual(expected.map((word) => `${word} x`))
  })

  test('writes the fields of a child', () => {
    const lines: string[] = []
    createTextLogger({ write: (line) => lines.push(line) })
      .child({ binding: 'orders' })
      .info({ tries: 1 }, 'x')
    expect(lines).toEqual(['INFO x binding=orders tries=1'])
  })

  test.each<[string, () => object, string]>([
    [
      'a field that is a revoked proxy',
      () => ({ value: revoked(), tries: 1 }),
      'WARN x value="a value that cannot be read" tries=1',
    ],
    ['a field whose getter throws', withGetter, 'WARN x tries=1 secret="a value that cannot be read"'],
    ['a list whose getter throws', () => ({ list: listWithGetter() }), 'WARN x list="a value that cannot be read"'],
    ['fields that are a revoked proxy', revoked, 'WARN x fields="a value that cannot be read"'],
  ])('writes what can be read of %s', (_, fields, expected) => {
    const lines: string[] = []
    const logger = createTextLogger({ write: (line) => lines.push(line) })
    logger.warn(fields(), 'x')
    logger.child(fields()).warn({}, 'x')
    expect(lines).toEqual([expected, expected])
  })

  test('writes such fields in a context too', () => {
    const lines: string[] = []
    const logger = withContextFields(createTextLogger({ write: (line) => lines.push(line) }))
    withLogContext({ bindingName: 'orders' }, () => logger.warn(withGetter(), 'x'))
    expect(lines).toEqual(['WARN [orders|-|-|-|-|-] x tries=1 secret="a value that cannot be read"'])
  })

  test('needs somewhere to write', () => {
    expect(() => createTextLogger({} as never)).toThrow(OptionsError)
    expect(() => createTextLogger({ write: () => {}, level: 'info' as never })).toThrow('did you mean INFO?')
  })
})
