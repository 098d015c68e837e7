import type { TopicDeclaration } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { mergeDeclarations } from '../../src/topics/merge-declarations.ts'

function deadLetters(source: string, partitions: number, configs: Record<string, string>): TopicDeclaration {
  return { name: 'dead_letters', role: 'DLT', source, partitions, replication: partitions > 4 ? 3 : 1, configs }
}

test('a topic that several bindings share has as much as the most demanding of them asks for', () => {
  const small = deadLetters('a', 2, { 'max.message.bytes': '900', 'retention.ms': '-1' })
  const large = deadLetters('b', 8, { 'max.message.bytes': '1000', 'min.insync.replicas': '2', 'retention.ms': '-1' })
  const merged = {
    name: 'dead_letters',
    role: 'DLT',
    partitions: 8,
    replication: 3,
    configs: { 'max.message.bytes': '1000', 'min.insync.replicas': '2', 'retention.ms': '-1' },
  }
  expect(mergeDeclarations([small, large])).toEqual([merged])
  expect(mergeDeclarations([large, small])).toEqual([merged])
})

test('other topics stay as they are, in their order', () => {
  const [one, two] = [deadLetters('a', 1, {}), { ...deadLetters('a', 1, {}), name: 'other' }]
  expect(mergeDeclarations([one, two])).toEqual([one, two])
  expect(mergeDeclarations([one, one])).toEqual([one])
})
