import { bucketFor, partitionFor } from '@waybill/core'
import { BUCKET_COUNT } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import contract from '../../../../contracts/partition-vectors.json' with { type: 'json' }
import { murmur2 } from '../../src/partition/murmur2.ts'

describe('contracts/partition-vectors.json', () => {
  test('agrees with the code on every vector', () => {
    const computed = contract.vectors.map(({ keyHex }) => {
      const key = Buffer.from(keyHex, 'hex')
      const partitions = contract.partitionCounts.map((count) => partitionFor(key, count))
      return { keyHex, hash: murmur2(key), bucket: bucketFor(key), partitions }
    })

    expect(computed).toEqual(
      contract.vectors.map(({ keyHex, hash, bucket, partitions }) => ({ keyHex, hash, bucket, partitions })),
    )
    expect(contract.bucketCount).toBe(BUCKET_COUNT)
  })

  test('gives a text beside the bytes only where they are its UTF-8', () => {
    for (const { key, keyHex } of contract.vectors)
      expect(key === undefined ? keyHex : Buffer.from(key, 'utf8').toString('hex')).toBe(keyHex)
  })

  test('has no key twice, several keys of each length from 1 to 9, and the hashes that a sign error shows at', () => {
    const keys = contract.vectors.map(({ keyHex }) => keyHex)
    expect(new Set(keys).size).toBe(keys.length)
    for (let length = 1; length <= 9; length++)
      expect(keys.filter((key) => key.length === 2 * length).length).toBeGreaterThan(5)
    const hashes = contract.vectors.map(({ hash }) => hash)
    expect(hashes).toEqual(expect.arrayContaining([0, -1, 2 ** 31 - 1, -(2 ** 31)]))
    const buckets = contract.vectors.map(({ bucket }) => bucket)
    expect(buckets).toEqual(expect.arrayContaining([0, 4095]))
  })
})
