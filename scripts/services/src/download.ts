import { copyFile, link, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ServiceError } from './service.ts'

/** A folder that is downloaded once and kept. */
export interface Download {
  readonly folder: string
  /** A file that a complete download has. */
  readonly mainFile: string
  /** Fills an empty folder. */
  readonly fill: (folder: string) => Promise<void>
}

/** Returns true when the folder has its main file. A folder under its final name is always complete. */
export async function isDownloaded({ mainFile }: Pick<Download, 'mainFile'>, folder: string): Promise<boolean> {
  return (await readdir(folder).catch((): string[] => [])).includes(mainFile)
}

/** Returns the folder, downloaded the first time into another one that gets its name when it is complete. */
export async function provideDownload(download: Download): Promise<string> {
  const { folder, mainFile, fill } = download
  if (await isDownloaded(download, folder)) return folder
  await mkdir(dirname(folder), { recursive: true })
  const draft = await mkdtemp(`${folder}.part-`)
  try {
    await fill(draft)
    if (!(await isDownloaded(download, draft)))
      throw new ServiceError(`Maven succeeded, but did not download ${mainFile}.`, 'Try again.')
    await rename(draft, folder).catch(async (error: unknown) => {
      if (!(await isDownloaded(download, folder))) throw error // Otherwise another download came first, and is as good.
    })
    return folder
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/**
 * Links files into a folder that another user can read: downloads are in the home folder of this one, which is closed. A link
 * takes no space; between two file systems the files are copied.
 */
export async function linkFiles(from: string, to: string): Promise<string> {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await linkFiles(source, target)
    else await link(source, target).catch(() => copyFile(source, target))
  }
  return to
}
