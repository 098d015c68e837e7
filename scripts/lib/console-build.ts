import { join } from 'node:path'
import { build } from 'vite'

/** Builds the console of a package into its `dist/console`. */
export async function buildConsole(folder: string): Promise<void> {
  await build({
    root: join(folder, 'console'),
    configFile: false,
    // Assets are found beside the page, wherever the host mounts it.
    base: './',
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: join(folder, 'dist', 'console'),
      emptyOutDir: true,
      target: 'es2022',
      // The polyfill would be an inline script, and small assets data: URLs. The policy of the page forbids the first.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      // Colors are written with light-dark(), which browsers understand since 2024.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    },
  })
}
