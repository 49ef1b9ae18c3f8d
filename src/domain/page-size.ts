/** Limits on the number of pets in one page of the list. */
export const PAGE_SIZE_MIN = 1;
export const PAGE_SIZE_MAX = 100;
/** The page size of a request that names none. */
export const PAGE_SIZE_DEFAULT = 20;
