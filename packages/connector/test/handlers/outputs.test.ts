import { Buffer } from 'node:buffer'
import { ArgumentError, StateError } from '@waybill/core'
import { failureKindOf } from '@waybill/core/internal'
import { KafkaError } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import { OutputRecordTooLargeError, OutputsTooLargeError } from '../../src/handlers/output-errors.ts'
import { Outputs } from '../../src/handlers/outputs.ts'

const limits = { ofCall: 100_000, ofRecord: 10_000 }
const record = (value: string) => ({ topic: 'out', key: null, value: Buffer.from(value) })
const valuesOf = (outputs: Outputs): string[] => outputs.take().map(({ value }) => String(value))

function thrownBy(call: () => void): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}

describe('the outputs of a record', () => {
  test('are those of its last call', () => {
    const outputs = new Outputs(limits)
    outputs.begin().send(record('failed'))
    const second = outputs.begin()
    second.send(record('a'))
    second.send(record('b'))
    expect(valuesOf(outputs)).toEqual(['a', 'b'])
  })

  test('are what they were when they were sent, though the handler uses its object and buffers again', () => {
    const outputs = new Outputs(limits)
    const call = outputs.begin()
    const value = Buffer.from('a')
    const mark = Buffer.from('1')
    const scratch = { topic: 'out', key: null, value, headers: [['n', mark]] as [string, Buffer][] }
    call.send(scratch)
    value.write('b')
    mark.write('2')
    call.send(scratch)
    scratch.value = Buffer.from('c')
    scratch.headers = []
    call.send(scratch)
    const sent = outputs
      .take()
      .map(({ value: bytes, headers = [] }) => [bytes, ...[...headers].map(([, content]) => content)])
    expect(sent.map((all) => all.map(String))).toEqual([['a', '1'], ['b', '2'], ['c']])
  })

  test('have headers of a text and bytes', () => {
    const call = new Outputs(limits).begin()
    expect(() => call.send({ ...record('a'), headers: [['n', 'text']] as never })).toThrow(ArgumentError)
  })

  test('are none where no call has begun', () => {
    expect(new Outputs(limits).take()).toEqual([])
  })

  test('a call that another has followed sends nothing more', () => {
    const outputs = new Outputs(limits)
    const first = outputs.begin()
    outputs.begin().send(record('a'))
    expect(() => first.send(record('late'))).toThrow(StateError)
    expect(valuesOf(outputs)).toEqual(['a'])
  })

  test('a call that has ended sends nothing more', () => {
    const outputs = new Outputs(limits)
    const call = outputs.begin()
    outputs.take()
    expect(() => call.send(record('late'))).toThrow('Cannot send a record: the handler call has ended.')
  })

  test('are bounded for each call: their bytes, headers included, and what each takes beside them', () => {
    const outputs = new Outputs({ ...limits, ofCall: 2_008 })
    const call = outputs.begin()
    call.send(record('1234'))
    call.send({ ...record('12'), headers: [['h', Buffer.from('x')]] })
    expect(() => call.send(record('1234'))).toThrow(OutputsTooLargeError)
    outputs.begin().send(record('12345678'))
    expect(valuesOf(outputs)).toEqual(['12345678'])
  })

  test('are each no larger than a producer would take, headers included', () => {
    const outputs = new Outputs(limits)
    const call = outputs.begin()
    const large = { kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE' }
    expect(() => call.send(record('x'.repeat(10_000)))).toThrow(expect.objectContaining(large))
    expect(() => call.send({ ...record('a'), headers: [['h', Buffer.alloc(10_000)]] })).toThrow(
      expect.objectContaining(large),
    )
    call.send(record('x'.repeat(9_900)))
    expect(outputs.take()).toHaveLength(1)
  })

  test.each<[string, RegExp, object]>([
    ['one', /raise transactional\.maxRecordBytes together with max\.message\.bytes of the topic/, { ofRecord: 100 }],
    ['all of a call', /raise transactional\.maxBytes/, { ofCall: 1_100 }],
  ])('that are too large (%s) name the option that allows more, and are never tried again', (_, option, limit) => {
    const call = new Outputs({ ...limits, ...limit }).begin()
    const refusal = thrownBy(() => call.send(record('x'.repeat(200))))
    expect(String(refusal)).toMatch(option)
    expect(failureKindOf(refusal)).toBe('PERMANENT')
  })

  test('that are too large are refused as a producer refuses them', () => {
    const call = new Outputs({ ...limits, ofRecord: 100 }).begin()
    const refusal = thrownBy(() => call.send(record('x'.repeat(200))))
    expect(refusal).toBeInstanceOf(OutputRecordTooLargeError)
    expect(refusal).toBeInstanceOf(KafkaError)
    expect(refusal).toMatchObject({ kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE' })
  })

  test('that come too late are refused for this call only', () => {
    const outputs = new Outputs(limits)
    const call = outputs.begin()
    outputs.end()
    expect(failureKindOf(thrownBy(() => call.send(record('late'))))).toBe('UNKNOWN')
  })

  test('are those of a call that has ended too, and it sends nothing more', () => {
    const outputs = new Outputs(limits)
    const call = outputs.begin()
    call.send(record('a'))
    outputs.end()
    expect(() => call.send(record('late'))).toThrow(StateError)
    expect(valuesOf(outputs)).toEqual(['a'])
  })

  test('are records that a broker would take, and keep their headers', () => {
    const outputs = new Outputs(limits)
    const call = outputs.begin()
    expect(() => call.send({ ...record('a'), topic: 'no such/name' })).toThrow(ArgumentError)
    const headers = new Map([['h', Buffer.from('x')]])
    call.send({ ...record('a'), headers: headers.entries() })
    const [kept] = outputs.take()
    expect([...(kept?.headers ?? [])]).toEqual([['h', Buffer.from('x')]])
    expect([...(kept?.headers ?? [])]).toHaveLength(1)
  })

  test('that were refused fail every further call', () => {
    const outputs = new Outputs(limits)
    outputs.begin().send(record('a'))
    const refusal = new Error('too large')
    outputs.refuse(refusal)
    expect(() => outputs.begin()).toThrow(refusal)
    expect(outputs.take()).toEqual([])
    expect(outputs.calls).toBe(1)
  })
})
