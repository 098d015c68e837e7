import { describe, expect, test } from 'vitest'
import { Grants } from '../../src/access/access.ts'
import { isLocalRequest } from '../../src/access/loopback.ts'
import { allPermissions } from '../../src/access/permission.ts'

describe('granted permissions', () => {
  test('READ_ONLY grants every read but payloads and the audit log', () => {
    const grants = new Grants('READ_ONLY')
    expect(allPermissions.filter((one) => grants.has(one))).toEqual([
      'bindings:read',
      'dlt:read',
      'outbox:read',
      'projections:read',
      'topics:read',
      'groups:read',
      'operations:read',
    ])
  })

  test('a list grants a permission for its subjects only', () => {
    const grants = new Grants({ 'dlt:replay': ['shipping'] })
    expect(grants.has('dlt:replay')).toBe(true)
    expect(grants.allows('dlt:replay', 'shipping')).toBe(true)
    expect(grants.allows('dlt:replay', 'billing')).toBe(false)
    expect(grants.allows('dlt:replay', undefined)).toBe(false)
  })

  test('false, an empty list, an inherited member and an unknown word grant nothing', () => {
    const inherited = Object.create({ 'bindings:read': true }) as object
    for (const access of [
      { 'bindings:read': false },
      { 'bindings:read': [] },
      inherited,
      { 'bindings:read': 1 },
      'SOME',
    ])
      expect(new Grants(access as never).has('bindings:read')).toBe(false)
  })
})

const from = (remoteAddress: string, headers: Record<string, string> = {}): boolean =>
  isLocalRequest({ method: 'GET', url: '/', headers, remoteAddress })

describe('a local request', () => {
  test('comes from a loopback address', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].map((one) => from(one))).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(['', '10.0.0.1', '::ffff:10.0.0.1', '128.0.0.1', '127.0.0.1.example'].some((one) => from(one))).toBe(false)
  })

  test('was not forwarded by a proxy and names this machine as its host', () => {
    expect(from('127.0.0.1', { 'x-forwarded-for': '10.0.0.1' })).toBe(false)
    expect(from('127.0.0.1', { host: 'localhost:4400' })).toBe(true)
    expect(from('::1', { host: '[::1]:4400' })).toBe(true)
    expect(from('127.0.0.1', { host: 'attacker.example' })).toBe(false)
  })
})
