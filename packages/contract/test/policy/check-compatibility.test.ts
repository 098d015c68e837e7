import { checkCompatibility } from '@waybill/contract'
import { ArgumentError } from '@waybill/core'
import { describe, expect, test } from 'vitest'

const message = {
  type: 'object',
  properties: { message_id: { type: 'string' }, sequence: { type: 'integer' }, content: { type: 'string' } },
  required: ['message_id', 'sequence'],
}

/** Returns the base schema with properties and required names replaced. */
function changed(properties: Record<string, unknown>, required: readonly string[] = message.required): object {
  return { ...message, properties: { ...message.properties, ...properties }, required }
}

describe('S2-055 S2-056 S2-059 the specified check', () => {
  test('allows an added and a removed optional property', () => {
    const newer = changed({ priority: { type: 'string', enum: ['normal', 'high'], default: 'normal' } })
    expect(checkCompatibility(message, newer)).toEqual([])
    expect(checkCompatibility(newer, message)).toEqual([])
  })

  test('lists added required fields as one set, sorted', () => {
    const newer = changed({ b: { type: 'string' }, a: { type: 'string' } }, ['message_id', 'sequence', 'b', 'a'])
    expect(checkCompatibility(message, newer)).toEqual(["Added required fields: {'a', 'b'}"])
  })

  test('lists removed required fields and changed types by name, a rename as both of its halves', () => {
    const newer = {
      type: 'object',
      properties: { id: { type: 'string' }, sequence: { type: 'string' }, content: { type: 'number' } },
      required: ['id', 'sequence'],
    }
    expect(checkCompatibility(message, newer)).toEqual([
      "Added required fields: {'id'}",
      'Removed required field: message_id',
      'Type change for content: string -> number',
      'Type change for sequence: integer -> string',
    ])
  })

  test('prints absent and listed types as Python does', () => {
    const listed = changed({ content: { type: ['string', 'null'] } })
    expect(checkCompatibility(message, listed)).toEqual(["Type change for content: string -> ['string', 'null']"])
    const open = changed({ content: {} })
    expect(checkCompatibility(message, open)).toEqual(['Type change for content: string -> None'])
    expect(checkCompatibility(open, listed)).toEqual(["Type change for content: None -> ['string', 'null']"])
    const quoted = changed({}, ["it's", 'message_id', 'sequence', 'a\\b', `"'`])
    expect(checkCompatibility(message, quoted)).toEqual([`Added required fields: {'"\\'', 'a\\\\b', "it's"}`])
  })

  test('has the blind spots of the specification: a property that becomes optional, and changes inside of one', () => {
    expect(checkCompatibility(message, changed({}, ['message_id']))).toEqual([])
    expect(checkCompatibility(message, changed({ content: { type: 'string', maxLength: 3 } }))).toEqual([])
  })

  test('takes a schema without properties for one without demands', () => {
    expect(checkCompatibility({}, message)).toEqual(["Added required fields: {'message_id', 'sequence'}"])
    expect(checkCompatibility({ properties: { open: true } }, { properties: { open: true } })).toEqual([])
  })

  test.each([
    ['a list', []],
    ['null', null],
    ['text required', { required: 'id' }],
    ['listed properties', { properties: [] }],
  ])('refuses %s', (_, schema) => {
    expect(() => checkCompatibility(schema as object, {})).toThrow(ArgumentError)
    expect(() => checkCompatibility({}, schema as object)).toThrow(ArgumentError)
  })
})
