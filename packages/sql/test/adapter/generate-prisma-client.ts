import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { PrismaPg } from '@prisma/adapter-pg'
import type { PrismaDatabase, PrismaTransaction } from '../../src/adapter/from-prisma.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')

const schema = `
generator client {
  provider     = "prisma-client"
  output       = "./client"
  runtime      = "nodejs"
  moduleFormat = "esm"
}
datasource db {
  provider = "postgresql"
}
model Thing {
  id String @id
  @@map("things")
}
`

/** A client of Prisma as it generates it, as far as the tests use it. */
export interface GeneratedClient extends PrismaDatabase<GeneratedTransaction> {
  $disconnect(): Promise<void>
}

export interface GeneratedTransaction extends PrismaTransaction {
  readonly thing: { create(row: { data: { id: string } }): PromiseLike<unknown> }
}

export interface GeneratedPrisma extends AsyncDisposable {
  create(adapter: PrismaPg): GeneratedClient
}

/**
 * Generates a Prisma client into a folder of its own. Only the client's engine is needed for that, which is part of the
 * package; so that nothing is downloaded, the engine for migrations is said to be some other program, which is never run.
 */
export async function generatePrismaClient(): Promise<GeneratedPrisma> {
  // Inside the repository, so that what is generated finds @prisma/client.
  await mkdir(join(root, '.waybill'), { recursive: true })
  const folder = await mkdtemp(join(root, '.waybill', 'prisma-'))
  await writeFile(join(folder, 'schema.prisma'), schema)
  const command = createRequire(import.meta.url).resolve('prisma/build/index.js')
  await promisify(execFile)(process.execPath, [command, 'generate', '--schema', 'schema.prisma'], {
    cwd: folder,
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
  })
  const generated = (await import(pathToFileURL(join(folder, 'client', 'client.ts')).href)) as {
    PrismaClient: new (options: { adapter: PrismaPg }) => GeneratedClient
  }
  return {
    create: (adapter) => new generated.PrismaClient({ adapter }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
