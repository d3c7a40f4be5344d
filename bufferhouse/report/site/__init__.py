"""The site: linked pages in a folder or a bucket; a page is made again only if what it shows has changed."""
