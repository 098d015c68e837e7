/** The files of the console, as `npm run build` writes them to `dist/console`. */

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A file that a browser asks for. */
export interface ConsoleFile {
  readonly type: string
  readonly body: Uint8Array
  /** Undefined where compression does not pay. */
  readonly gzipped: Uint8Array | undefined
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The built files lie beside the bundle, and the sources two folders below the package. */
const foldersUp = 3

/** Reads all files, by their path below the mount path: `/assets/main.js`. Empty if the console was not built. */
export async function readConsoleFiles(from: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const folder = await findFolder(from)
  if (folder === undefined) return new Map()
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name)
        const url = path.slice(folder.length).replaceAll('\\', '/')
        return [url, await consoleFile(url, await readFile(path))] as const
      }),
    ),
  )
}

/** Returns a file with its hash and its compressed bytes. */
export async function consoleFile(url: string, body: Uint8Array): Promise<ConsoleFile> {
  const gzipped = await promisify(gzip)(body, { level: 9 })
  return {
    type: types[url.slice(url.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    body,
    gzipped: gzipped.length < body.length ? gzipped : undefined,
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
  }
}

async function findFolder(from: string): Promise<string | undefined> {
  let at = from
  for (let up = 0; up < foldersUp; up++) {
    const folder = join(at, 'dist', 'console')
    if (await isBuilt(folder)) return folder
    at = dirname(at)
  }
  return undefined
}

async function isBuilt(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).includes('index.html')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Returns the page for a path: its links lead to the mount path from however deep it is shown. */
export function pageAt(depth: number, index: ConsoleFile): Uint8Array {
  if (depth === 0) return index.body
  const html = Buffer.from(index.body).toString('utf8')
  return Buffer.from(html.replaceAll('="./', `="${'../'.repeat(depth)}`))
}
