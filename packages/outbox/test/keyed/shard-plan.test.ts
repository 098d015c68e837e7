import { firstPresenceShard, type ShardLease, shardCount } from '@waybill/outbox/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  balancedAssignment,
  fixedAssignment,
  presenceToTake,
  type ShardAssignment,
  type ShardView,
} from '../../src/keyed/shard-plan.ts'

/** A table of leases and nodes that look at it in turn, each granted what is free and giving back what it should. */
class Table {
  readonly owners = new Map<number, string>()

  get leases(): ShardLease[] {
    return [...this.owners].map(([shard, owner]) => ({ shard, owner, version: 1n }))
  }

  look(self: string, assignment: ShardAssignment, showsPresence = true): void {
    const slot = showsPresence ? presenceToTake({ self, leases: this.leases }, self.length) : undefined
    if (slot !== undefined) this.owners.set(slot, self)
    const { take, release } = assignment({ self, leases: this.leases, busy: new Set() })
    for (const shard of release) this.owners.delete(shard)
    for (const shard of take) if (!this.owners.has(shard)) this.owners.set(shard, self)
  }

  leave(node: string): void {
    for (const [shard, owner] of this.owners) if (owner === node) this.owners.delete(shard)
  }

  counts(nodes: readonly string[]): number[] {
    return nodes.map((node) => this.leases.filter(({ shard, owner }) => shard >= 0 && owner === node).length)
  }
}

const balanced = balancedAssignment(() => 7)

describe('shards are shared between the nodes that are present', () => {
  test('one node takes all of them', () => {
    const table = new Table()
    table.look('a', balanced)
    expect(table.counts(['a'])).toEqual([64])
  })

  test('a second one gets half, by what the first gives back', () => {
    const table = new Table()
    for (const node of ['a', 'b', 'a', 'b']) table.look(node, balanced)
    expect(table.counts(['a', 'b'])).toEqual([32, 32])
  })

  test('C-80 any number of nodes that come and go end with equal shares, and every shard with an owner', () => {
    const node = fc.integer({ min: 0, max: 11 }).map((index) => `node-${index}`)
    const step = fc.tuple(fc.constantFrom('look' as const, 'look' as const, 'leave' as const), node)
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), fc.nat(), (steps, rotation) => {
        const table = new Table()
        const assignment = balancedAssignment(() => rotation)
        const present = new Set<string>()
        for (const [kind, name] of steps) {
          if (kind === 'look') {
            present.add(name)
            table.look(name, assignment)
          } else {
            present.delete(name)
            table.leave(name)
          }
        }
        const nodes = [...present]
        for (let round = 0; round < 3; round++) for (const name of nodes) table.look(name, assignment)
        const counts = table.counts(nodes)
        if (nodes.length === 0) return
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(shardCount)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
        const settled = new Map(table.owners)
        for (const name of nodes) table.look(name, assignment)
        expect(table.owners).toEqual(settled)
      }),
    )
  })

  test('a node that is not present takes nothing: others could not leave it a share', () => {
    const view: ShardView = { self: 'a', leases: [], busy: new Set() }
    expect(balanced(view)).toEqual({ take: [], release: [] })
  })

  test('a shard of which something still runs here is left alone', () => {
    const leases = [{ shard: firstPresenceShard, owner: 'a', version: 1n }]
    expect(balanced({ self: 'a', leases, busy: new Set([3, 9]) }).take.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 64 }, (_, shard) => shard).filter((shard) => shard !== 3 && shard !== 9),
    )
  })

  test('more nodes than there are presences wait', () => {
    const leases = Array.from({ length: shardCount }, (_, index) => ({
      shard: firstPresenceShard - index,
      owner: `node-${index}`,
      version: 1n,
    }))
    expect(presenceToTake({ self: 'late', leases }, 3)).toBeUndefined()
    expect(presenceToTake({ self: 'late', leases: leases.slice(1) }, 3)).toBe(firstPresenceShard)
  })
})

describe('shards by instance', () => {
  test('S4-024 instance i of n owns the shards that leave the remainder i', () => {
    const table = new Table()
    table.look('b', fixedAssignment(3, 1), false)
    expect(table.leases.map(({ shard }) => shard)).toEqual(
      Array.from({ length: 64 }, (_, shard) => shard).filter((shard) => shard % 3 === 1),
    )
  })

  test('the instances own every shard once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), (count) => {
        const table = new Table()
        for (let id = 0; id < count; id++) table.look(`instance-${id}`, fixedAssignment(count, id), false)
        expect(table.owners.size).toBe(shardCount)
      }),
    )
  })
})
