import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bucketFor, partitionFor } from '@waybill/core'
import { BUCKET_COUNT, createSeededRandom } from '@waybill/core/internal'
import { cacheFolder } from '@waybill/services'
import { runProgram } from '@waybill/test-support'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import contract from '../../contracts/partition-vectors.json' with { type: 'json' }

/** What Kafka's Java client answers for one key. */
interface JavaAnswer {
  readonly hash: number
  readonly partitions: readonly number[]
}

/** Counts that divide 4096: here the client's own partitioner has to agree with the contract. */
const dividingCounts = [1, 2, 8, 16, 64, 128, 1024, 4096]

const jarFolder = cacheFolder()
const classPath = findClassPath()
const missing = reasonToSkip()

// A clone with npm alone has neither Java nor the client's jar; the vectors are then checked without them.
describe("the partitioning contract and Kafka's Java client", () => {
  const vectorKeys = contract.vectors.map((vector) => Buffer.from(vector.keyHex, 'hex'))
  const randomKeys = drawKeys(20_000)
  let ofVectors: JavaAnswer[]
  let ofRandomKeys: JavaAnswer[]

  // One by one, because only a test that skips itself can say why at the end of the run.
  beforeEach(({ skip }) => {
    skip(missing !== undefined, `partitions were not compared with Kafka's Java client: ${missing}`)
  })

  beforeAll(async () => {
    if (missing !== undefined) return
    const answers = await askJava([...vectorKeys, ...randomKeys])
    ofVectors = answers.slice(0, vectorKeys.length)
    ofRandomKeys = answers.slice(vectorKeys.length)
  })

  test('agree on the hash of every vector', () => {
    expect(ofVectors.map(({ hash }) => hash)).toEqual(contract.vectors.map(({ hash }) => hash))
  })

  test('agree on the bucket of 20,000 random keys', () => {
    expect(ofRandomKeys.map(({ hash }) => (hash & 0x7fffffff) % BUCKET_COUNT)).toEqual(randomKeys.map(bucketFor))
  })

  test('agree on the partition of 20,000 random keys for counts that divide 4096', () => {
    expect(ofRandomKeys.map(({ partitions }) => partitions)).toEqual(
      randomKeys.map((key) => dividingCounts.map((count) => partitionFor(key, count))),
    )
  })
})

function drawKeys(howMany: number): Buffer[] {
  const random = createSeededRandom(4096)
  const below = (end: number): number => Math.floor(random() * end)
  return Array.from({ length: howMany }, () => Buffer.from(Array.from({ length: below(48) }, () => below(256))))
}

function reasonToSkip(): string | undefined {
  if (classPath === undefined) return `no kafka-clients jar under ${jarFolder}: \`npm run services up\` brings it`
  try {
    execFileSync('java', ['-version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'no Java on this machine'
  }
}

/** The folder of the client's jar, which holds what the client itself needs as well. */
function findClassPath(): string | undefined {
  try {
    const jar = readdirSync(jarFolder, { recursive: true, encoding: 'utf8' }).find((path) =>
      /(^|\/)kafka-clients-[\d.]+\.jar$/.test(path),
    )
    return jar === undefined ? undefined : join(jarFolder, dirname(jar), '*')
  } catch {
    return undefined
  }
}

async function askJava(keys: readonly Buffer[]): Promise<JavaAnswer[]> {
  const program = fileURLToPath(new URL('PartitionOracle.java', import.meta.url))
  const args = ['-cp', classPath as string, program, ...dividingCounts.map(String)]
  const input = keys.map((key) => `${key.toString('hex')}\n`).join('')
  const result = await runProgram('java', args, { input })
  if (result?.code !== 0) throw new Error(`PartitionOracle.java failed: ${result?.stderr}`)
  return result.stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [hash = Number.NaN, ...partitions] = line.split(' ').map(Number)
      return { hash, partitions }
    })
}
