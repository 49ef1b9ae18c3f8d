/** Removes the lines about progress from an output, because these lines depend on the speed of the machine. */
export function withoutProgress(output: string): string {
  const progress = 'still working|(?:backing up|checking|comparing|exporting|restoring|writing): \\d.*';
  return output.replaceAll(new RegExp(`^petstore: (?:${progress})\\n`, 'gm'), '');
}
